#include "kernels/ops/shapes.hpp"

#include <string>
#include <vector>

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

tensor_shape resized(const tensor_shape& shape, std::size_t axis, std::size_t size) {
    std::vector<std::size_t> dimensions{shape.dimensions().begin(), shape.dimensions().end()};
    dimensions[axis] = size;
    return tensor_shape{dimensions};
}

result<void> check_parts(std::string_view name, const tensor& whole, std::span<const tensor> parts,
                         std::size_t axis, std::size_t block) {
    operand_check check{name};
    const auto& shape = whole.shape();
    check.is("the whole", whole, shape, whole.type())
        .require(axis < shape.rank(), "there is no such axis")
        .require(block == 1 || shape.rank() == 4, "only images have a channel block")
        .require(!parts.empty() && whole.elements() > 0, "an operand has no elements");
    if (!check.ok())
        return check.outcome();
    std::size_t sum = 0;
    for (std::size_t p = 0; p < parts.size() && check.ok(); ++p) {
        const std::string part = "part " + std::to_string(p);
        check.rank(part, parts[p], shape.rank());
        if (!check.ok())
            break;
        const std::size_t size = parts[p].shape()[axis];
        check.is(part, parts[p], resized(shape, axis, size), whole.type())
            .require(block == 1 || (block > 0 && parts[p].shape()[1] % block == 0),
                     "the channel block does not divide the channels");
        sum += size;
    }
    check.require(sum == shape[axis], "the parts do not add up to the whole");
    return check.outcome();
}

} // namespace

result<void> concat::check() const {
    return check_parts("concat", output, inputs, axis, block);
}

result<void> split::check() const {
    return check_parts("split", input, outputs, axis, block);
}

result<void> transfer::check() const {
    operand_check check{"transfer"};
    check.is("input", input, input.shape(), input.type())
        .is("output", output, input.shape(), input.type());
    return check.outcome();
}

} // namespace troupe

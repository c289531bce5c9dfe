#include "kernels/ops/gradients.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

result<void> compensate_delay::check() const {
    const tensor_shape& shape = gradient.shape();
    operand_check check{"compensate_delay"};
    check.is("gradient", gradient, shape)
        .is("weight", weight, shape)
        .is("pulled", pulled, shape)
        .is("corrected", corrected, shape)
        .require((mean_square == nullptr) == (new_mean_square == nullptr),
                 "a mean square is read and written");
    if (check.ok() && mean_square != nullptr)
        check.is("mean_square", *mean_square, shape).is("new_mean_square", *new_mean_square, shape);
    return check.outcome();
}

result<void> trimmed_mean::check() const {
    operand_check check{"trimmed_mean"};
    check
        .require(!inputs.empty() && inputs.size() <= inputs_max,
                 "takes 1 to " + std::to_string(inputs_max) + " inputs")
        .require(2 * trim < inputs.size(), "leaves nothing of its inputs");
    for (const tensor& input : inputs)
        check.is("input", input, output.shape());
    return check.is("output", output, output.shape()).outcome();
}

result<void> largest_difference::check() const {
    operand_check check{"largest_difference"};
    return check.is("x", x, x.shape()).is("y", y, x.shape()).outcome();
}

} // namespace troupe

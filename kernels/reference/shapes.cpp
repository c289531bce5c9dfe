#include <algorithm>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// Where the element that comes `i`-th in row-major order lies in memory.
std::size_t offset(const tensor_shape& shape, std::size_t block, std::size_t i) {
    if (block == 1)
        return i;
    return image_layout{shape, block}.offset(i / (shape[1] * shape[2] * shape[3]),
                                             i / (shape[2] * shape[3]) % shape[1],
                                             i / shape[3] % shape[2], i % shape[3]);
}

// Calls f(place in the part, place in the whole) for all elements of a part that begins at `first` along `axis`.
template <class Function>
void for_each_element(const tensor_shape& part, const tensor_shape& whole, std::size_t axis,
                      std::size_t first, std::size_t block, Function f) {
    std::size_t below = 1; // elements of one index along the axis
    for (std::size_t d = axis + 1; d < part.rank(); ++d)
        below *= part[d];
    for (std::size_t i = 0; i < part.elements(); ++i) {
        const std::size_t above = i / (below * part[axis]);
        const std::size_t along = i / below % part[axis] + first;
        const std::size_t in_whole = (above * whole[axis] + along) * below + i % below;
        f(offset(part, block, i), offset(whole, block, in_whole));
    }
}

void copy_element(const tensor& from, std::size_t i, tensor& to, std::size_t j) {
    const std::size_t size = size_of(from.type());
    std::copy_n(from.data() + i * size, size, to.mutable_data() + j * size);
}

} // namespace

result<void> reference_operations::compute(const concat& op) {
    std::size_t first = 0;
    for (const tensor& input : op.inputs) {
        for_each_element(
            input.shape(), op.output.shape(), op.axis, first, op.block,
            [&](std::size_t from, std::size_t to) { copy_element(input, from, op.output, to); });
        first += input.shape()[op.axis];
    }
    return {};
}

result<void> reference_operations::compute(const split& op) {
    std::size_t first = 0;
    for (tensor& output : op.outputs) {
        for_each_element(
            output.shape(), op.input.shape(), op.axis, first, op.block,
            [&](std::size_t to, std::size_t from) { copy_element(op.input, from, output, to); });
        first += output.shape()[op.axis];
    }
    return {};
}

result<void> reference_operations::compute(const transfer& op) {
    std::copy_n(op.input.data(), op.input.bytes(), op.output.mutable_data());
    return {};
}

} // namespace troupe

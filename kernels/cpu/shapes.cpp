#include <algorithm>

#include "kernels/cpu/cpu_operations.hpp"

namespace troupe {

namespace {

// The number of runs of consecutive elements in each part of `whole`: one for every index of the dimensions before `axis`.
// The channel block, the last dimension in memory, is split off the channels.
std::size_t runs_along(const tensor_shape& whole, std::size_t axis, std::size_t block) {
    std::size_t runs = 1;
    for (std::size_t d = 0; d < axis; ++d)
        runs *= whole[d];
    return axis > 1 ? runs / block : runs;
}

} // namespace

result<void> cpu_operations::compute(const concat& op) {
    const std::size_t runs = runs_along(op.output.shape(), op.axis, op.block);
    std::byte* output = op.output.mutable_data();
    for (std::size_t r = 0; r < runs; ++r)
        for (const tensor& input : op.inputs) {
            const std::size_t run = input.bytes() / runs;
            output = std::copy_n(input.data() + r * run, run, output);
        }
    return {};
}

result<void> cpu_operations::compute(const split& op) {
    const std::size_t runs = runs_along(op.input.shape(), op.axis, op.block);
    const std::byte* input = op.input.data();
    for (std::size_t r = 0; r < runs; ++r)
        for (tensor& output : op.outputs) {
            const std::size_t run = output.bytes() / runs;
            std::copy_n(input, run, output.mutable_data() + r * run);
            input += run;
        }
    return {};
}

result<void> cpu_operations::compute(const transfer& op) {
    std::copy_n(op.input.data(), op.input.bytes(), op.output.mutable_data());
    return {};
}

} // namespace troupe

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/row_copies.hpp"
#include "kernels/cuda/status.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// The rows that a tensor has before the axis, counted in memory order: its parts are so many rows one behind another in
// those of the whole.
std::size_t rows_before(const tensor_shape& shape, std::size_t axis, std::size_t block) {
    std::size_t rows = 1;
    for (std::size_t d = 0; d < axis; ++d)
        rows *= shape[d];
    return axis >= 2 ? rows / block : rows;
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const concat& op) {
    const std::size_t rows = rows_before(op.output.shape(), op.axis, op.block);
    const std::size_t whole_row = op.output.bytes() / rows;
    std::byte* to = op.output.mutable_data();
    for (const tensor& input : op.inputs) {
        const std::size_t row = input.bytes() / rows;
        if (auto done = cuda::checked(
                cuda::copy_rows({rows, row, input.data(), row, to, whole_row}, run_.stream()),
                {&input, &op.output});
            !done)
            return done;
        to += row;
    }
    return {};
}

result<void> cuda_operations::start(const split& op) {
    const std::size_t rows = rows_before(op.input.shape(), op.axis, op.block);
    const std::size_t whole_row = op.input.bytes() / rows;
    const std::byte* from = op.input.data();
    for (tensor& output : op.outputs) {
        const std::size_t row = output.bytes() / rows;
        if (auto done = cuda::checked(
                cuda::copy_rows({rows, row, from, whole_row, output.mutable_data(), row},
                                run_.stream()),
                {&op.input, &output});
            !done)
            return done;
        from += row;
    }
    return {};
}

} // namespace troupe

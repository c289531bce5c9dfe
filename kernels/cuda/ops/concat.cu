#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/indices.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

struct row_copy {
    std::size_t rows, row_bytes;
    const std::byte* from;
    std::size_t from_stride; // bytes from one row to the next
    std::byte* to;
    std::size_t to_stride;
};

// What a tensor has before the axis, counted in memory order: its parts are so many rows one behind another in those of the
// whole.
std::size_t rows_before(const tensor_shape& shape, std::size_t axis, std::size_t block) {
    std::size_t rows = 1;
    for (std::size_t d = 0; d < axis; ++d)
        rows *= shape[d];
    return axis >= 2 ? rows / block : rows;
}

struct alignas(16) four_words {
    std::uint32_t words[4];
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <class Index, class Unit>
struct copy_pass {
    cuda::divisor<Index> by_row;
    const Unit* from;
    Index from_stride;
    Unit* to;
    Index to_stride;

    __device__ void operator()(std::size_t i) const {
        const auto [row, column] = by_row.divide(static_cast<Index>(i));
        to[row * to_stride + column] = from[row * from_stride + column];
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

namespace {

template <class Unit>
cudaError_t copy_units(const row_copy& copy, cudaStream_t stream) {
    const std::size_t row = copy.row_bytes / sizeof(Unit);
    const std::size_t from_stride = copy.from_stride / sizeof(Unit);
    const std::size_t to_stride = copy.to_stride / sizeof(Unit);
    const std::size_t rows = copy.rows;
    return cuda::with_index({rows * from_stride, rows * to_stride}, [&]<class Index>(Index) {
        const copy_pass<Index, Unit> pass{
            cuda::divisor<Index>{row}, reinterpret_cast<const Unit*>(copy.from),
            static_cast<Index>(from_stride), reinterpret_cast<Unit*>(copy.to),
            static_cast<Index>(to_stride)};
        return cuda::launch_elements(stream, rows * row, pass);
    });
}

// In the widest units that all rows begin and end with.
cudaError_t copy_rows(const row_copy& copy, cudaStream_t stream) {
    if (copy.row_bytes == 0)
        return cudaSuccess;
    const std::size_t all = copy.row_bytes | copy.from_stride | copy.to_stride |
                            reinterpret_cast<std::uintptr_t>(copy.from) |
                            reinterpret_cast<std::uintptr_t>(copy.to);
    return all % sizeof(four_words) == 0      ? copy_units<four_words>(copy, stream)
           : all % sizeof(std::uint32_t) == 0 ? copy_units<std::uint32_t>(copy, stream)
                                              : copy_units<std::byte>(copy, stream);
}

} // namespace

result<void> cuda_operations::start(const concat& op) {
    const std::size_t rows = rows_before(op.output.shape(), op.axis, op.block);
    const std::size_t whole_row = op.output.bytes() / rows;
    std::byte* to = op.output.mutable_data();
    for (const tensor& input : op.inputs) {
        const std::size_t row = input.bytes() / rows;
        if (auto done = cuda::checked(
                copy_rows({rows, row, input.data(), row, to, whole_row}, run_.stream()),
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
                copy_rows({rows, row, from, whole_row, output.mutable_data(), row}, run_.stream()),
                {&op.input, &output});
            !done)
            return done;
        from += row;
    }
    return {};
}

} // namespace troupe

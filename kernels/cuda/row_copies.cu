#include "kernels/cuda/row_copies.hpp"

#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/indices.hpp"

namespace troupe::cuda {

namespace {

struct alignas(16) four_words {
    std::uint32_t words[4];
};

template <class Index, class Unit>
struct copy_pass {
    divisor<Index> by_row;
    const Unit* from;
    Index from_stride;
    Unit* to;
    Index to_stride;

    __device__ void operator()(std::size_t i) const {
        const auto [row, column] = by_row.divide(static_cast<Index>(i));
        to[row * to_stride + column] = from[row * from_stride + column];
    }
};

template <class Unit>
cudaError_t copy_units(const row_copy& copy, cudaStream_t stream) {
    const std::size_t row = copy.row_bytes / sizeof(Unit);
    const std::size_t from_stride = copy.from_stride / sizeof(Unit);
    const std::size_t to_stride = copy.to_stride / sizeof(Unit);
    const std::size_t rows = copy.rows;
    return with_index({rows * from_stride, rows * to_stride}, [&]<class Index>(Index) {
        const copy_pass<Index, Unit> pass{
            divisor<Index>{row}, reinterpret_cast<const Unit*>(copy.from),
            static_cast<Index>(from_stride), reinterpret_cast<Unit*>(copy.to),
            static_cast<Index>(to_stride)};
        return launch_elements(stream, rows * row, pass);
    });
}

} // namespace

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

} // namespace troupe::cuda

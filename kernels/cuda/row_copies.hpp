// Rows of memory copied to rows that may be further apart, or less far.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace troupe::cuda {

struct row_copy {
    std::size_t rows, row_bytes;
    const std::byte* from;
    std::size_t from_stride; // bytes from one row to the next
    std::byte* to;
    std::size_t to_stride;
};

// Puts into the stream: the rows, in the widest units that all of them begin and end with. What lies between rows stays.
cudaError_t copy_rows(const row_copy& copy, cudaStream_t stream);

} // namespace troupe::cuda

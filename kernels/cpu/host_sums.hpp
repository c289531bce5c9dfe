// Sums of float32 numbers in the processor's memory, by the thread that asks: for what takes less time than to give it to a
// device and to hear of its end. The same bits as the operations of cpu_operations.hpp.
#pragma once

#include <cstddef>

#include "kernels/ops/codecs.hpp"

namespace troupe {

// sum[i] = factor * (x[i] + y[i]). The sum may be x or y.
void add_on_host(const float* x, const float* y, float factor, float* sum, std::size_t count);

// scaled[i] = factor * x[i]. May be x.
void scale_on_host(const float* x, float factor, float* scaled, std::size_t count);

// Numbers of 16 bits, at any address. output[i] = what is decoded of i, plus addend[i] where there is an addend, which may
// be the output.
void encode_half_on_host(half_format format, const float* x, std::byte* halves, std::size_t count);
void decode_half_on_host(half_format format, const std::byte* halves, const float* addend,
                         float* output, std::size_t count);

} // namespace troupe

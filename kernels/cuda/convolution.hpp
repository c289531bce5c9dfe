// Convolutions: by cuDNN where it is there and takes them, else as products of matrices, of the weights and of columns, one
// for each window, with what it covers.
//
// The windows of all samples stand side by side. They are done in ranges, so that the memory for columns stays below a
// bound; a range may end within a sample. A convolution of single pixels needs no columns: the images are.
//
// Sums over windows are those of a product within a range, and over the ranges in order.
#pragma once

#include "kernels/cuda/execution.hpp"
#include "kernels/ops/images.hpp"

namespace troupe::cuda {

// Enough windows to fill a GPU with their product, little enough for much of it to stay in the cache.
inline constexpr std::size_t columns_bytes_max = 64u << 20;

// Puts them into the stream. Scratch memory beside that of products: `bytes_max`, or that of 8 windows if it is more.
result<void> convolve(const conv2d_forward& op, execution& run,
                      std::size_t bytes_max = columns_bytes_max);
result<void> convolve_back(const conv2d_backward& op, execution& run,
                           std::size_t bytes_max = columns_bytes_max);

} // namespace troupe::cuda

// 3x3 convolutions at stride 1 by Winograd's minimal filtering F(4x4, 3x3): 36 products where direct convolution takes 144,
// for five times its rounding error (of random images of 128 channels). For machines with AVX-512 only.
//
// An image is cut into tiles of 6x6 pixels that overlap by 2, each gives 4x4 pixels of the result. Tiles, weights and
// results are transformed to 36 positions each; at every position the tiles of a block are multiplied with the weights
// as one matrix product over the channels. The backward passes are the same: the gradient of the input is a
// convolution with turned weights, that of the weights the transpose of the whole.
//
// Images are in blocks of 16 channels (image_layout in kernels/ops/ops.hpp), weights row-major (out, in, 3, 3). All
// memory is the caller's. Sums run in a fixed order, over samples in theirs, however many are passed at a time.
// Threads: any.
// Source: A. Lavin, S. Gray: Fast Algorithms for Convolutional Neural Networks, 2015, section 4; the transposes are ours.
#pragma once

#include <cstddef>

namespace troupe::cpu {

struct winograd_task {
    std::size_t samples;
    std::size_t in, out;       // channels, multiples of 16
    std::size_t height, width; // of the input
    std::size_t padding;       // 0 to 2
};

// Floats of packed weights and of sums of weight gradients.
std::size_t winograd_weight_floats(const winograd_task& task) noexcept;
// Floats that a convolution or a weight gradient needs beside its operands.
std::size_t winograd_workspace_floats(const winograd_task& task) noexcept;

void winograd_pack(const winograd_task& task, const float* weight, float* packed) noexcept;
// Packs weights for the gradient of the input, which is the convolution of winograd_backward_task(task).
void winograd_pack_backward(const winograd_task& task, const float* weight, float* packed) noexcept;
winograd_task winograd_backward_task(const winograd_task& task) noexcept;

// `bias` may be null.
void winograd_convolve(const winograd_task& task, const float* images, const float* packed,
                       const float* bias, float* result, float* workspace) noexcept;

// Adds to `sums` and `bias_sums`, which start as zeros.
void winograd_add_weight_gradient(const winograd_task& task, const float* images,
                                  const float* output_gradient, float* sums, float* bias_sums,
                                  float* workspace) noexcept;
void winograd_unpack_weight_gradient(const winograd_task& task, const float* sums,
                                     float* weight_gradient) noexcept;

} // namespace troupe::cpu

// 3x3 convolutions at stride 1 by Winograd's minimal filtering F(4x4, 3x3): 36 products where direct convolution takes 144,
// for five times its rounding error (of random images of 128 channels). Compiled once per instruction set; the bits depend
// on it, as those of oneDNN's products do.
//
// An image is cut into tiles of 6x6 pixels that overlap by 2, each gives 4x4 pixels of the result. Tiles, weights and
// results are transformed to 36 positions each; at every position the tiles of a block are multiplied with the weights
// as one matrix product over the channels. The backward passes are the same: the gradient of the input is a
// convolution with turned weights, that of the weights the transpose of the whole.
//
// Images are in blocks of channels (image_layout in kernels/ops/ops.hpp), weights row-major (out, in, 3, 3). All memory is
// the caller's. Sums run in a fixed order, over samples in theirs, however many are passed at a time.
// Threads: any.
// Source: A. Lavin, S. Gray: Fast Algorithms for Convolutional Neural Networks, 2015, section 4; the transposes are ours.
#pragma once

#include <cstddef>

namespace troupe::cpu {

struct winograd_task {
    std::size_t samples;
    std::size_t block;         // of an image: 16 channels, or 8 but for the loops for AVX-512
    std::size_t in, out;       // channels, multiples of `block`
    std::size_t height, width; // of the input
    std::size_t padding;       // 0 to 2
    // Channels that images and weights have in all, where `in` or `out` are some of them; 0: no others. What belongs to
    // channels is then passed from the first of them on.
    std::size_t in_all = 0, out_all = 0;
};

struct winograd_loops {
    // Where they are faster than oneDNN's direct convolutions on such a machine, as measured: the least in + out, as few
    // channels make the products small.
    std::size_t channels_min;
    // Floats of packed weights and of sums of weight gradients.
    std::size_t (*weight_floats)(const winograd_task& task);
    // Floats that a convolution or a weight gradient needs beside its operands.
    std::size_t (*workspace_floats)(const winograd_task& task);

    void (*pack)(const winograd_task& task, const float* weight, float* packed);
    // Packs weights for the convolution that gives the gradient of the input: from `out` channels to `in`, padded by
    // 2 - padding.
    void (*pack_backward)(const winograd_task& task, const float* weight, float* packed);
    // `bias` may be null.
    void (*convolve)(const winograd_task& task, const float* images, const float* packed,
                     const float* bias, float* result, float* workspace);

    // Adds to `sums` and `bias_sums`, which start as zeros.
    void (*add_weight_gradient)(const winograd_task& task, const float* images,
                                const float* output_gradient, float* sums, float* bias_sums,
                                float* workspace);
    void (*unpack_weight_gradient)(const winograd_task& task, const float* sums,
                                   float* weight_gradient);
};

extern const winograd_loops winograd_loops_baseline;
extern const winograd_loops winograd_loops_avx2;
extern const winograd_loops winograd_loops_avx512;

} // namespace troupe::cpu

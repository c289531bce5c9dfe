// Convolutions of few channels, which begin image networks: of 1 or 3 channels, any window, stride and padding. Forward
// and the gradient of the weights. Compiled once per instruction set; the bits depend on it, as those of oneDNN's
// products do.
//
// They are matrix products with the image, shifted by every position of the window. The image is too small for unrolling
// it to pay, and has too few channels to fill vectors: here vectors are along the channels of the output. Back, a few
// shifts at a time have their sums in registers while a sample passes; forward, a few pixels while the window passes.
//
// Images are row-major, outputs and their gradients in blocks of channels (image_layout in kernels/ops/ops.hpp). All
// memory is the caller's. Sums run in a fixed order, over samples in theirs, however many are passed at a time.
// Threads: any.
#pragma once

#include <cstddef>

namespace troupe::cpu {

struct few_channels_task {
    std::size_t samples;
    std::size_t block; // of the output's gradient: 16 channels, or 8 but for the loops for AVX-512
    std::size_t in, out;               // channels, `out` a multiple of `block`
    std::size_t height, width;         // of the input
    std::size_t out_height, out_width; // of the output
    std::size_t kernel_height, kernel_width, stride, padding;
};

struct few_channels_loops {
    // The most channels with which these are faster than oneDNN on such a machine, as measured.
    std::size_t channels_max;
    // Forward: the least window, as oneDNN's direct convolutions take smaller ones only.
    std::size_t forward_window_min;

    // Floats of sums, and those that are needed beside the operands.
    std::size_t (*sums_floats)(const few_channels_task& task);
    std::size_t (*workspace_floats)(const few_channels_task& task);

    // Adds to `sums`, which start as zeros.
    void (*add)(const few_channels_task& task, const float* images, const float* output_gradient,
                float* sums, float* workspace);
    // Row-major (out, in, kernel_height, kernel_width), and (out); the latter may be null.
    void (*unpack)(const few_channels_task& task, const float* sums, float* weight_gradient,
                   float* bias_gradient);

    // Floats of packed weights.
    std::size_t (*packed_floats)(const few_channels_task& task);
    void (*pack)(const few_channels_task& task, const float* weight, float* packed);
    // `bias` may be null.
    void (*convolve)(const few_channels_task& task, const float* images, const float* packed,
                     const float* bias, float* result, float* workspace);
};

extern const few_channels_loops few_channels_loops_baseline;
extern const few_channels_loops few_channels_loops_avx2;
extern const few_channels_loops few_channels_loops_avx512;

} // namespace troupe::cpu

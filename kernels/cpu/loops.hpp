// Plain loops over contiguous floats, compiled once per instruction set and chosen when the program starts.
//
// No loop's result depends on the instruction set: each element is computed by the same operations in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

// Some images' max-pooling, in the memory order of image_layout (kernels/ops/ops.hpp).
struct pool_task {
    std::size_t planes; // samples * channels / block
    std::size_t height; // of the larger images
    std::size_t width;
    std::size_t windows_down;
    std::size_t windows_across;
    std::size_t kernel;
    std::size_t stride;
    std::size_t padding;
    std::size_t block;
    bool relu; // between the larger images and the pool
};

struct loops {
    // out[i] = x[i] + factor * y[i]
    void (*add_scaled)(const float* x, float factor, const float* y, float* out, std::size_t count);
    // positions: one byte or, for windows larger than 16x16, four bytes each
    void (*pool_forward)(const pool_task& task, const float* images, float* pooled,
                         void* positions);
    // `pooled` is read where task.relu only
    void (*pool_backward)(const pool_task& task, const float* pooled_gradient, const float* pooled,
                          const void* positions, float* gradient);
    // Per group: (block, pixels) to (pixels, block), and back.
    void (*interleave)(const float* x, float* y, std::size_t groups, std::size_t block,
                       std::size_t pixels);
    void (*separate)(const float* x, float* y, std::size_t groups, std::size_t block,
                     std::size_t pixels);
};

extern const loops loops_baseline;
extern const loops loops_avx2;
extern const loops loops_avx512;

} // namespace troupe::cpu

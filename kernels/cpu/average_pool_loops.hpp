// The loops of average_pool (kernels/ops/images.hpp), compiled once per instruction set as those of loops.hpp and under the
// same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>

namespace troupe::cpu {

// Images in the memory order of image_layout.
struct average_pool_task {
    std::size_t planes; // samples * channels / block
    std::size_t height; // of the larger images
    std::size_t width;
    std::size_t windows_down;
    std::size_t windows_across;
    std::size_t kernel_height;
    std::size_t kernel_width;
    std::size_t stride;
    std::size_t padding;
    std::size_t block;
};

struct average_pool_loops {
    void (*forward)(average_pool_task task, const float* images, float* pooled);
    void (*backward)(average_pool_task task, const float* pooled_gradient, float* gradient);
};

extern const average_pool_loops average_pool_loops_baseline;
extern const average_pool_loops average_pool_loops_avx2;
extern const average_pool_loops average_pool_loops_avx512;

} // namespace troupe::cpu

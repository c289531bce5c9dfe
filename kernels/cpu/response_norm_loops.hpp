// The loops of local response normalisation (kernels/ops/image_norms.hpp), compiled once per instruction set as those of
// loops.hpp and under the same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>

namespace troupe::cpu {

struct response_norm_task {
    std::size_t samples, channels, pixels; // (samples, channels / block, pixels, block) in memory
    std::size_t block;
    std::size_t size; // channels that count
    float share;      // alpha / size
    float beta;
    float k;
    const float* x;
    const float* dy;  // backward only
    float* y;         // backward: dx
    float* workspace; // response_norm_pixels * (4 * channels + size) floats
};

constexpr std::size_t response_norm_pixels = 16; // worked on at a time

struct response_norm_loops {
    void (*forward)(response_norm_task task);
    void (*backward)(response_norm_task task);
};

extern const response_norm_loops response_norm_loops_baseline;
extern const response_norm_loops response_norm_loops_avx2;
extern const response_norm_loops response_norm_loops_avx512;

} // namespace troupe::cpu

// The loops of dropout and softmax (kernels/ops/dropout.hpp, sequences.hpp), compiled once per instruction set as those of
// loops.hpp and under the same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

struct dropout_task {
    std::uint64_t first;      // index of the first element in its minibatch
    std::uint32_t counter[2]; // the upper two words
    std::uint32_t key[2];
    std::uint32_t threshold; // of the random words of elements that are kept
    float scale;             // of elements that are kept
};

struct sequence_loops {
    void (*dropout)(const dropout_task& task, const float* x, float* y, std::size_t count);
    // Each row by itself; y may be x, dx may be dy.
    void (*softmax)(const float* x, float* y, std::size_t rows, std::size_t columns);
    void (*softmax_back)(const float* y, const float* dy, float* dx, std::size_t rows,
                         std::size_t columns);
};

extern const sequence_loops sequence_loops_baseline;
extern const sequence_loops sequence_loops_avx2;
extern const sequence_loops sequence_loops_avx512;

} // namespace troupe::cpu

// The loops of dropout, softmax and attention (kernels/ops/dropout.hpp, sequences.hpp), compiled once per instruction set as
// those of loops.hpp and under the same rule: no result depends on the instruction set.
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

// The scores of some queries (rows) for some keys (columns). A row sees its first so many keys only.
struct score_block {
    float* scores;
    std::size_t rows;
    std::size_t columns;
    std::size_t first_visible; // keys that the first row sees; at least 1
    bool causal; // every row sees one key more than the one before it, while there are any
};

struct sequence_loops {
    void (*dropout)(const dropout_task& task, const float* x, float* y, std::size_t count);
    // Each row by itself; y may be x, dx may be dy.
    void (*softmax)(const float* x, float* y, std::size_t rows, std::size_t columns);
    void (*softmax_back)(const float* y, const float* dy, float* dx, std::size_t rows,
                         std::size_t columns);
    // The scores s of a row become e^(s - m) with m the largest of the row in this and all earlier blocks, 0 where the row
    // does not see the key. `largest` and `totals` keep m and the sum of the exponentials from block to block; what
    // earlier blocks added to the row's output, `width` floats, is scaled to the new m.
    void (*attention)(const score_block& block, bool is_first, float* largest, float* totals,
                      float* output, std::size_t output_stride, std::size_t width);
    // Scores become shares p = e^(s - log_sum), and the gradients of shares those of unscaled scores,
    // scale * p * (dp - mean).
    void (*attention_back)(const score_block& block, const float* log_sums, const float* means,
                           float scale, float* gradients);
    // dots[row] = sum over x[row][i] * y[row][i], of `width` floats each
    void (*dots)(const float* x, const float* y, std::size_t rows, std::size_t stride,
                 std::size_t width, float* dots);
    // x[i] *= factor
    void (*scale)(float* x, float factor, std::size_t count);
};

extern const sequence_loops sequence_loops_baseline;
extern const sequence_loops sequence_loops_avx2;
extern const sequence_loops sequence_loops_avx512;

} // namespace troupe::cpu

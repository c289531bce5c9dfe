// Compiled several times, with TROUPE_SEQUENCE_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/sequence_loops.hpp"

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/loop_marks.hpp"
#include "kernels/cpu/random_words.hpp"
#include "kernels/cpu/reductions.hpp"

namespace troupe::cpu {

namespace {

// y[i] = e^(x[i] - shift)
void exponentials(const float* x, float shift, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = exponential(x[i] - shift);
}

void scale(float* x, float factor, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        x[i] *= factor;
}

void dropout(const dropout_task& t, const float* x, float* y, std::size_t count) {
    std::uint32_t words[random_block];
    // Not read anew for every element, as they would be beside what is written.
    const std::uint32_t upper[] = {t.counter[0], t.counter[1]};
    const philox_key key{{t.key[0], t.key[1]}};
    const std::uint32_t threshold = t.threshold;
    const float factor = t.scale;
    std::uint64_t counter = t.first / 4;
    for (std::size_t skipped = t.first % 4; count > 0; skipped = 0, counter += random_block / 4) {
        random_words(counter, upper, key, words);
        const std::size_t left = random_block - skipped;
        const std::size_t covered = count < left ? count : left;
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < covered; ++i)
            y[i] = words[skipped + i] >= threshold ? x[i] * factor : 0.f;
        x += covered;
        y += covered;
        count -= covered;
    }
}

void softmax(const float* x, float* y, std::size_t rows, std::size_t columns) {
    for (std::size_t row = 0; row < rows; ++row, x += columns, y += columns) {
        exponentials(x, largest_of(x, columns), y, columns);
        scale(y, static_cast<float>(1 / sum_of(y, columns)), columns);
    }
}

void softmax_back(const float* y, const float* dy, float* dx, std::size_t rows,
                  std::size_t columns) {
    for (std::size_t row = 0; row < rows; ++row, y += columns, dy += columns, dx += columns) {
        const float mean = dot_of(y, dy, columns);
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < columns; ++i)
            dx[i] = y[i] * (dy[i] - mean);
    }
}

} // namespace

extern const sequence_loops TROUPE_SEQUENCE_LOOPS;
const sequence_loops TROUPE_SEQUENCE_LOOPS{dropout, softmax, softmax_back};

} // namespace troupe::cpu

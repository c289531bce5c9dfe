// Compiled several times, with TROUPE_SEQUENCE_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/sequence_loops.hpp"

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/loop_marks.hpp"
#include "kernels/cpu/reductions.hpp"
#include "schemas/base/philox.hpp"

namespace troupe::cpu {

namespace {

// Of the exponentials of one block: so few that floats will do.
float total_of(const float* x, std::size_t count) {
    lane_values sums = {}, others = {};
    std::size_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        sums += load_lanes(x + i);
        others += load_lanes(x + i + lanes);
    }
    for (; i + lanes <= count; i += lanes)
        sums += load_lanes(x + i);
    sums += others;
    sums += exchanged<8>(sums);
    sums += exchanged<4>(sums);
    sums += exchanged<2>(sums);
    float total = (sums + exchanged<1>(sums))[0];
    for (; i < count; ++i)
        total += x[i];
    return total;
}

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

void zero(float* x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        x[i] = 0;
}

void dropout(const dropout_task& t, const float* x, float* y, std::size_t count) {
    constexpr std::size_t counters = 32; // at a time
    std::uint32_t words[4 * counters];
    // Not read anew for every element, as they would be beside what is written.
    const std::uint32_t upper[] = {t.counter[0], t.counter[1]};
    const philox_key key{{t.key[0], t.key[1]}};
    const std::uint32_t threshold = t.threshold;
    const float factor = t.scale;
    std::uint64_t counter = t.first / 4;
    for (std::size_t skipped = t.first % 4; count > 0; skipped = 0, counter += counters) {
        for (std::size_t c = 0; c < counters; ++c) {
            const std::uint64_t low = counter + c;
            const philox_words at =
                philox({{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                         upper[0], upper[1]}},
                       key);
            for (std::size_t w = 0; w < 4; ++w)
                words[4 * c + w] = at.word[w];
        }
        const std::size_t left = 4 * counters - skipped;
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

// How many keys a row sees.
std::size_t visible_keys(const score_block& block, std::size_t row) {
    const std::size_t keys = block.first_visible + (block.causal ? row : 0);
    return keys < block.columns ? keys : block.columns;
}

void attention(const score_block& block, bool is_first, float* largest, float* totals,
               float* output, std::size_t output_stride, std::size_t width) {
    for (std::size_t row = 0; row < block.rows; ++row, output += output_stride) {
        float* scores = block.scores + row * block.columns;
        const std::size_t visible = visible_keys(block, row);
        const float here = largest_of(scores, visible);
        const float next = is_first || here > largest[row] ? here : largest[row];
        exponentials(scores, next, scores, visible);
        zero(scores + visible, block.columns - visible);
        float total = total_of(scores, visible);
        if (!is_first) {
            const float kept = exponential(largest[row] - next);
            total += kept * totals[row];
            scale(output, kept, width);
        }
        largest[row] = next;
        totals[row] = total;
    }
}

void attention_back(const score_block& block, const float* log_sums, const float* means,
                    float factor, float* gradients) {
    for (std::size_t row = 0; row < block.rows; ++row) {
        float* scores = block.scores + row * block.columns;
        float* to_scores = gradients + row * block.columns;
        const std::size_t visible = visible_keys(block, row);
        const float log_sum = log_sums[row], mean = means[row];
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < visible; ++i) {
            const float share = exponential(scores[i] - log_sum);
            scores[i] = share;
            to_scores[i] = factor * share * (to_scores[i] - mean);
        }
        zero(scores + visible, block.columns - visible);
        zero(to_scores + visible, block.columns - visible);
    }
}

void dots(const float* x, const float* y, std::size_t rows, std::size_t stride, std::size_t width,
          float* result) {
    for (std::size_t row = 0; row < rows; ++row)
        result[row] = dot_of(x + row * stride, y + row * stride, width);
}

} // namespace

extern const sequence_loops TROUPE_SEQUENCE_LOOPS;
const sequence_loops TROUPE_SEQUENCE_LOOPS{dropout,        softmax, softmax_back, attention,
                                           attention_back, dots,    scale};

} // namespace troupe::cpu

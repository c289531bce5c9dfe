// Compiled several times, with TROUPE_ADDITIVE_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/additive_loops.hpp"

#include "kernels/cpu/loop_marks.hpp"
#include "kernels/cpu/reductions.hpp"
#include "kernels/cpu/sigmoid.hpp"

namespace troupe::cpu {

namespace {

std::size_t length_of(const additive_memory& m, std::size_t sample) {
    return m.lengths == nullptr ? m.source : static_cast<std::size_t>(m.lengths[sample]);
}

void zero(float* x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        x[i] = 0;
}

// x becomes its softmax.
void softmax(float* x, std::size_t count) {
    const float largest = largest_of(x, count);
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        x[i] = exponential(x[i] - largest);
    const float share = static_cast<float>(1 / sum_of(x, count));
    for (std::size_t i = 0; i < count; ++i)
        x[i] *= share;
}

// sum[i] += factors[r] * rows[r][i]
void add_rows(const float* rows, const float* factors, std::size_t count, std::size_t width,
              float* sum) {
    for (std::size_t r = 0; r < count; ++r) {
        const float factor = factors[r];
        const float* row = rows + r * width;
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < width; ++i)
            sum[i] += factor * row[i];
    }
}

void forward(const additive_memory& m, const additive_forward_task& t) {
    const std::size_t width = m.attention_width;
    const float* v = m.score_weight;
    float* terms = t.scratch;
    for (std::size_t s = 0; s < m.samples; ++s) {
        const std::size_t length = length_of(m, s);
        const float* query = t.query.of(s);
        float *shares = t.shares.of(s), *context = t.context.of(s);
        for (std::size_t j = 0; j < length; ++j) {
            const float* projected = m.projected + (s * m.source + j) * width;
            TROUPE_EACH_BY_ITSELF
            for (std::size_t a = 0; a < width; ++a)
                terms[a] = v[a] * tangent(query[a] + projected[a]);
            shares[j] = static_cast<float>(sum_of(terms, width));
        }
        softmax(shares, length);
        zero(shares + length, m.source - length);
        zero(context, m.width);
        add_rows(m.values + s * m.source * m.width, shares, length, m.width, context);
    }
}

// The gradients of the scores of one sample, from that of its context.
void score_gradients(const float* memory, const float* shares, const float* to_context,
                     std::size_t length, std::size_t width, float* to_scores) {
    double mean = 0;
    for (std::size_t j = 0; j < length; ++j) {
        to_scores[j] = dot_of(to_context, memory + j * width, width);
        mean += static_cast<double>(shares[j] * to_scores[j]);
    }
    for (std::size_t j = 0; j < length; ++j)
        to_scores[j] = shares[j] * (to_scores[j] - static_cast<float>(mean));
}

void backward(const additive_memory& m, const additive_backward_task& t) {
    const std::size_t width = m.attention_width;
    const float* v = m.score_weight;
    float *to_scores = t.scratch, *to_v = t.to_score_weight;
    for (std::size_t s = 0; s < m.samples; ++s) {
        const std::size_t length = length_of(m, s);
        score_gradients(m.values + s * m.source * m.width, t.shares.of(s), t.to_context.of(s),
                        length, m.width, to_scores);
        const float* query = t.query.of(s);
        float* to_query = t.to_query.of(s);
        zero(to_query, width);
        for (std::size_t j = 0; j < length; ++j) {
            const float* projected = m.projected + (s * m.source + j) * width;
            float* to_projected = t.to_projected + (s * m.source + j) * width;
            const float to_score = to_scores[j];
            TROUPE_EACH_BY_ITSELF
            for (std::size_t a = 0; a < width; ++a) {
                const float hidden = tangent(query[a] + projected[a]);
                const float to_sum = to_score * v[a] * ((1.f - hidden) * (1.f + hidden));
                to_v[a] += to_score * hidden;
                to_query[a] += to_sum;
                to_projected[a] += to_sum;
            }
        }
    }
}

} // namespace

extern const additive_loops TROUPE_ADDITIVE_LOOPS;
const additive_loops TROUPE_ADDITIVE_LOOPS{forward, backward};

} // namespace troupe::cpu

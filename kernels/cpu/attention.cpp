// Attention in blocks of queries and keys, so that no sample's scores are ever in memory whole: Milakov and Gimelshein 2018
// (softmax with a running maximum and sum), Dao et al. 2022 (attention and its backward pass by it).
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/matrix_product.hpp"
#include "kernels/cpu/sequence_loops.hpp"

namespace troupe {

namespace {

constexpr std::size_t query_block = 64;
constexpr std::size_t key_block = 256;
// So that with `causal` the first row of a block sees a key of it.
static_assert(key_block % query_block == 0);

// The rows of one head of one sample: float matrices whose rows are a stride apart.
template <class Float>
struct head_rows {
    Float* first;
    std::size_t stride;

    Float* row(std::size_t position) const { return first + position * stride; }
    cpu::matrix from(std::size_t position, bool transposed = false) const {
        return {row(position), stride, transposed};
    }
};

head_rows<const float> head_of(const columns& c, std::size_t sample, std::size_t column) {
    const auto& shape = c.of.shape();
    return {c.of.values<float>().data() + sample * shape[1] * shape[2] + c.first + column,
            shape[2]};
}

head_rows<float> head_of(const mutable_columns& c, std::size_t sample, std::size_t column) {
    const auto& shape = c.of.shape();
    return {c.of.mutable_values<float>().data() + sample * shape[1] * shape[2] + c.first + column,
            shape[2]};
}

// One head of one sample.
struct head_task {
    std::size_t sample;
    std::size_t first_column;
    std::size_t width;
    std::size_t queries;
    std::size_t keys; // that anybody sees
    std::size_t first_log_sum;
    float scale;
    bool causal;
};

template <class Attention, class Function>
void for_each_head(const Attention& op, Function f) {
    const auto& shape = op.output.shape();
    const std::size_t heads = op.settings.heads;
    const std::size_t width = shape[2] / heads;
    for (std::size_t s = 0; s < shape[0]; ++s) {
        const std::size_t keys =
            op.key_lengths != nullptr
                ? static_cast<std::size_t>(op.key_lengths->template values<std::int32_t>()[s])
                : op.keys.of.shape()[1];
        for (std::size_t h = 0; h < heads; ++h)
            f(head_task{s, h * width, width, shape[1], keys, (s * heads + h) * shape[1],
                        1 / std::sqrt(static_cast<float>(width)), op.settings.causal});
    }
}

// What some queries see of some keys.
struct block_place {
    std::size_t query, queries, key, keys;
};

// Calls f for the blocks that any of the queries query .. query + queries sees anything of, in the order of the keys.
template <class Function>
void for_each_key_block(const head_task& head, std::size_t query, std::size_t queries, Function f) {
    const std::size_t seen = head.causal ? std::min(head.keys, query + queries) : head.keys;
    for (std::size_t key = 0; key < seen; key += key_block)
        f(block_place{query, queries, key, std::min(key_block, seen - key)});
}

cpu::score_block block_of(const head_task& head, const block_place& at, float* scores) {
    return {scores, at.queries, at.keys, head.causal ? at.query + 1 - at.key : at.keys,
            head.causal};
}

// Floats of one block of the largest size that this attention needs.
template <class Attention>
std::size_t block_floats(const Attention& op) {
    return std::min(query_block, op.output.shape()[1]) * std::min(key_block, op.keys.of.shape()[1]);
}

} // namespace

result<void> cpu_operations::compute(const attention_forward& op) {
    return cpu::guarded([&] {
        const cpu::scratch memory{pool_, block_floats(op) * sizeof(float)};
        float* const scores = memory.floats();
        float largest[query_block], totals[query_block];
        for_each_head(op, [&](const head_task& head) {
            const auto q = head_of(op.queries, head.sample, head.first_column);
            const auto k = head_of(op.keys, head.sample, head.first_column);
            const auto v = head_of(op.values, head.sample, head.first_column);
            const auto out = head_of(mutable_columns{op.output}, head.sample, head.first_column);
            float* log_sums = op.log_sums.mutable_values<float>().data() + head.first_log_sum;
            for (std::size_t query = 0; query < head.queries; query += query_block) {
                const std::size_t rows = std::min(query_block, head.queries - query);
                for_each_key_block(head, query, rows, [&](const block_place& at) {
                    const bool is_first = at.key == 0;
                    cpu::matrix_product{.m = rows,
                                        .n = at.keys,
                                        .k = head.width,
                                        .alpha = head.scale,
                                        .a = q.from(query),
                                        .b = k.from(at.key, true),
                                        .c = scores,
                                        .c_stride = at.keys}
                        .run();
                    sequence_loops_.attention(block_of(head, at, scores), is_first, largest, totals,
                                              out.row(query), out.stride, head.width);
                    cpu::matrix_product{.m = rows,
                                        .n = head.width,
                                        .k = at.keys,
                                        .a = {scores, at.keys},
                                        .b = v.from(at.key),
                                        .beta = is_first ? 0.f : 1.f,
                                        .c = out.row(query),
                                        .c_stride = out.stride}
                        .run();
                });
                for (std::size_t i = 0; i < rows; ++i) {
                    sequence_loops_.scale(out.row(query + i), 1 / totals[i], head.width);
                    log_sums[query + i] = largest[i] + std::log(totals[i]);
                }
            }
        });
    });
}

namespace {

// The operands of attention_backward for one head.
struct head_operands {
    head_rows<const float> q, k, v, out, to_out;
    head_rows<float> to_q, to_k, to_v;
    const float* log_sums;

    head_operands(const attention_backward& op, const head_task& head)
        : q{head_of(op.queries, head.sample, head.first_column)}, k{head_of(op.keys, head.sample,
                                                                            head.first_column)},
          v{head_of(op.values, head.sample, head.first_column)}, out{head_of(columns{op.output},
                                                                             head.sample,
                                                                             head.first_column)},
          to_out{head_of(columns{op.output_gradient}, head.sample, head.first_column)},
          to_q{head_of(op.query_gradient, head.sample, head.first_column)},
          to_k{head_of(op.key_gradient, head.sample, head.first_column)},
          to_v{head_of(op.value_gradient, head.sample, head.first_column)},
          log_sums{op.log_sums.values<float>().data() + head.first_log_sum} {}
};

// Adds what one block gives to all three gradients; the queries' begins with its first block. `scores` and `to_scores`
// have room for the block, `means` are its queries'.
void add_block(const cpu::sequence_loops& loops, const head_task& head, const head_operands& o,
               const block_place& at, float* scores, float* to_scores, const float* means) {
    const auto product = [&](std::size_t m, std::size_t n, std::size_t k, float alpha,
                             cpu::matrix a, cpu::matrix b, float beta, float* c,
                             std::size_t c_stride) {
        cpu::matrix_product{m, n, k, alpha, a, b, beta, c, c_stride}.run();
    };
    product(at.queries, at.keys, head.width, head.scale, o.q.from(at.query), o.k.from(at.key, true),
            0, scores, at.keys);
    product(at.queries, at.keys, head.width, 1, o.to_out.from(at.query), o.v.from(at.key, true), 0,
            to_scores, at.keys);
    loops.attention_back(block_of(head, at, scores), o.log_sums + at.query, means, head.scale,
                         to_scores);
    product(at.keys, head.width, at.queries, 1, {scores, at.keys, true}, o.to_out.from(at.query), 1,
            o.to_v.row(at.key), o.to_v.stride);
    product(at.keys, head.width, at.queries, 1, {to_scores, at.keys, true}, o.q.from(at.query), 1,
            o.to_k.row(at.key), o.to_k.stride);
    product(at.queries, head.width, at.keys, 1, {to_scores, at.keys}, o.k.from(at.key),
            at.key == 0 ? 0.f : 1.f, o.to_q.row(at.query), o.to_q.stride);
}

} // namespace

result<void> cpu_operations::compute(const attention_backward& op) {
    return cpu::guarded([&] {
        const std::size_t floats = block_floats(op);
        const cpu::scratch memory{pool_, 2 * floats * sizeof(float)};
        float* const scores = memory.floats();
        float means[query_block];
        for_each_head(op, [&](const head_task& head) {
            const head_operands o{op, head};
            for (std::size_t key = 0; key < op.keys.of.shape()[1]; ++key) {
                std::fill_n(o.to_k.row(key), head.width, 0.f);
                std::fill_n(o.to_v.row(key), head.width, 0.f);
            }
            for (std::size_t query = 0; query < head.queries; query += query_block) {
                const std::size_t rows = std::min(query_block, head.queries - query);
                sequence_loops_.dots(o.out.row(query), o.to_out.row(query), rows, o.out.stride,
                                     head.width, means);
                for_each_key_block(head, query, rows, [&](const block_place& at) {
                    add_block(sequence_loops_, head, o, at, scores, scores + floats, means);
                });
            }
        });
    });
}

} // namespace troupe

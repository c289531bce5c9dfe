#include <algorithm>

#include "kernels/cpu/attention_loops.hpp"
#include "kernels/cpu/bf16_loops.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/scratch.hpp"

namespace troupe {

namespace {

cpu::position_rows head_of(const columns& c, std::size_t sample, std::size_t column) {
    const auto& shape = c.of.shape();
    return {c.of.values<float>().data() + sample * shape[1] * shape[2] + c.first + column,
            shape[2]};
}

cpu::mutable_position_rows head_of(const mutable_columns& c, std::size_t sample,
                                   std::size_t column) {
    const auto& shape = c.of.shape();
    return {c.of.mutable_values<float>().data() + sample * shape[1] * shape[2] + c.first + column,
            shape[2]};
}

// Rows of heads as the products take them: where they lie, or rounded copies.
class head_factors {
  public:
    head_factors(memory_pool& pool, const cpu::bf16_loops& loops, precision products,
                 std::size_t positions, std::size_t width)
        : loops_{loops}, products_{products}, width_{width}, memory_{pool, rounds(products)
                                                                               ? positions * width *
                                                                                     sizeof(float)
                                                                               : 0} {}

    // Whose copies may be written over from here on.
    void start_head() { taken_ = 0; }
    cpu::position_rows of(const cpu::position_rows& rows, std::size_t positions) {
        if (!rounds(products_))
            return rows;
        float* const copy = memory_.floats() + taken_;
        taken_ += positions * width_;
        for (std::size_t i = 0; i < positions; ++i)
            loops_.round(products_, rows.first + i * rows.stride, copy + i * width_, width_);
        return {copy, width_};
    }

  private:
    const cpu::bf16_loops& loops_;
    const precision products_;
    const std::size_t width_;
    const cpu::scratch memory_;
    std::size_t taken_ = 0;
};

template <class Attention>
std::size_t head_width(const Attention& op) {
    return op.output.shape()[2] / op.settings.heads;
}

// Calls f with each head of each sample, the sample's number, the head's first column and its first log sum.
template <class Attention, class Function>
void for_each_head(const Attention& op, head_factors& factors, Function f) {
    const auto& shape = op.output.shape();
    const std::size_t heads = op.settings.heads;
    const std::size_t width = head_width(op);
    for (std::size_t s = 0; s < shape[0]; ++s) {
        const std::size_t keys =
            op.key_lengths != nullptr
                ? static_cast<std::size_t>(op.key_lengths->template values<std::int32_t>()[s])
                : op.keys.of.shape()[1];
        for (std::size_t h = 0; h < heads; ++h) {
            factors.start_head();
            f(cpu::attention_head{shape[1], keys, width, op.settings.causal,
                                  factors.of(head_of(op.queries, s, h * width), shape[1]),
                                  factors.of(head_of(op.keys, s, h * width), keys),
                                  factors.of(head_of(op.values, s, h * width), keys)},
              s, h * width, (s * heads + h) * shape[1]);
        }
    }
}

} // namespace

result<void> cpu_operations::compute(const attention_forward& op) {
    return cpu::guarded([&] {
        const std::size_t keys = op.keys.of.shape()[1];
        const cpu::scratch memory{pool_,
                                  attention_loops_.floats(keys, head_width(op)) * sizeof(float)};
        head_factors factors{pool_, bf16_loops_, op.products, op.output.shape()[1] + 2 * keys,
                             head_width(op)};
        for_each_head(op, factors,
                      [&](const cpu::attention_head& head, std::size_t sample, std::size_t column,
                          std::size_t first_log_sum) {
                          attention_loops_.forward(
                              {head, head_of(mutable_columns{op.output}, sample, column),
                               op.log_sums.mutable_values<float>().data() + first_log_sum},
                              memory.floats());
                      });
    });
}

result<void> cpu_operations::compute(const attention_backward& op) {
    return cpu::guarded([&] {
        const std::size_t queries = op.output.shape()[1], keys = op.keys.of.shape()[1];
        const cpu::scratch memory{pool_, attention_back_loops_.floats(keys, head_width(op)) *
                                             sizeof(float)};
        head_factors factors{pool_, bf16_loops_, op.products, 2 * (queries + keys), head_width(op)};
        for_each_head(
            op, factors,
            [&](const cpu::attention_head& head, std::size_t sample, std::size_t column,
                std::size_t first_log_sum) {
                const auto to_k = head_of(op.key_gradient, sample, column);
                const auto to_v = head_of(op.value_gradient, sample, column);
                attention_back_loops_.backward(
                    {head, head_of(columns{op.output}, sample, column),
                     factors.of(head_of(columns{op.output_gradient}, sample, column), queries),
                     op.log_sums.values<float>().data() + first_log_sum,
                     head_of(op.query_gradient, sample, column), to_k, to_v},
                    memory.floats());
                for (std::size_t key = head.keys; key < keys; ++key) {
                    std::fill_n(to_k.first + key * to_k.stride, head.width, 0.f);
                    std::fill_n(to_v.first + key * to_v.stride, head.width, 0.f);
                }
            });
    });
}

} // namespace troupe

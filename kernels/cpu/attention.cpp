#include <algorithm>

#include "kernels/cpu/attention_loops.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/guarded.hpp"

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

// Calls f with each head of each sample, the sample's number, the head's first column and its first log sum.
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
            f(cpu::attention_head{shape[1], keys, width, op.settings.causal,
                                  head_of(op.queries, s, h * width), head_of(op.keys, s, h * width),
                                  head_of(op.values, s, h * width)},
              s, h * width, (s * heads + h) * shape[1]);
    }
}

template <class Attention>
std::size_t head_width(const Attention& op) {
    return op.output.shape()[2] / op.settings.heads;
}

} // namespace

result<void> cpu_operations::compute(const attention_forward& op) {
    return cpu::guarded([&] {
        const std::size_t floats = attention_loops_.floats(op.keys.of.shape()[1], head_width(op));
        const cpu::scratch memory{pool_, floats * sizeof(float)};
        for_each_head(op, [&](const cpu::attention_head& head, std::size_t sample,
                              std::size_t column, std::size_t first_log_sum) {
            attention_loops_.forward({head, head_of(mutable_columns{op.output}, sample, column),
                                      op.log_sums.mutable_values<float>().data() + first_log_sum},
                                     memory.floats());
        });
    });
}

result<void> cpu_operations::compute(const attention_backward& op) {
    return cpu::guarded([&] {
        const std::size_t floats =
            attention_back_loops_.floats(op.keys.of.shape()[1], head_width(op));
        const cpu::scratch memory{pool_, floats * sizeof(float)};
        for_each_head(op, [&](const cpu::attention_head& head, std::size_t sample,
                              std::size_t column, std::size_t first_log_sum) {
            const auto to_k = head_of(op.key_gradient, sample, column);
            const auto to_v = head_of(op.value_gradient, sample, column);
            attention_back_loops_.backward({head, head_of(columns{op.output}, sample, column),
                                            head_of(columns{op.output_gradient}, sample, column),
                                            op.log_sums.values<float>().data() + first_log_sum,
                                            head_of(op.query_gradient, sample, column), to_k, to_v},
                                           memory.floats());
            for (std::size_t key = head.keys; key < op.keys.of.shape()[1]; ++key) {
                std::fill_n(to_k.first + key * to_k.stride, head.width, 0.f);
                std::fill_n(to_v.first + key * to_v.stride, head.width, 0.f);
            }
        });
    });
}

} // namespace troupe

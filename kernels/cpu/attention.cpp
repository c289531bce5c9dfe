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

// A head of a sample, with the sample's number, the head's first column and its first log sum.
struct head_place {
    cpu::attention_head head;
    std::size_t sample, column, log_sum;
};

template <class Attention>
head_place place_of(const Attention& op, std::size_t number) {
    const auto& shape = op.output.shape();
    const std::size_t s = number / op.settings.heads, width = head_width(op);
    const std::size_t column = number % op.settings.heads * width;
    const std::size_t keys =
        op.key_lengths != nullptr
            ? static_cast<std::size_t>(op.key_lengths->template values<std::int32_t>()[s])
            : op.keys.of.shape()[1];
    return {{shape[1], keys, width, op.settings.causal, head_of(op.queries, s, column),
             head_of(op.keys, s, column), head_of(op.values, s, column)},
            s,
            column,
            number * shape[1]};
}

// Runs the tasks that `make` makes of all heads of all samples, each with the next at hand.
template <class Attention, class Make, class Run>
void for_each_head(const Attention& op, Make make, Run run) {
    const std::size_t count = op.output.shape()[0] * op.settings.heads;
    auto task = make(place_of(op, 0));
    for (std::size_t i = 1; i < count; ++i) {
        const auto next = make(place_of(op, i));
        task.next = &next;
        run(task);
        task = next;
    }
    run(task);
}

void round(cpu::attention_head& head, head_factors& factors) {
    factors.start_head();
    head.q = factors.of(head.q, head.queries);
    head.k = factors.of(head.k, head.keys);
    head.v = factors.of(head.v, head.keys);
}

} // namespace

result<void> cpu_operations::compute(const attention_forward& op) {
    return cpu::guarded([&] {
        const std::size_t keys = op.keys.of.shape()[1];
        const cpu::scratch memory{pool_,
                                  attention_loops_.floats(keys, head_width(op)) * sizeof(float)};
        head_factors factors{pool_, bf16_loops_, op.products, op.output.shape()[1] + 2 * keys,
                             head_width(op)};
        for_each_head(
            op,
            [&](const head_place& at) {
                return cpu::attention_head_forward{
                    at.head, head_of(mutable_columns{op.output}, at.sample, at.column),
                    op.log_sums.mutable_values<float>().data() + at.log_sum};
            },
            [&](cpu::attention_head_forward task) {
                round(task.head, factors);
                attention_loops_.forward(task, memory.floats());
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
            op,
            [&](const head_place& at) {
                return cpu::attention_head_backward{
                    at.head,
                    head_of(columns{op.output}, at.sample, at.column),
                    head_of(columns{op.output_gradient}, at.sample, at.column),
                    op.log_sums.values<float>().data() + at.log_sum,
                    head_of(op.query_gradient, at.sample, at.column),
                    head_of(op.key_gradient, at.sample, at.column),
                    head_of(op.value_gradient, at.sample, at.column)};
            },
            [&](cpu::attention_head_backward task) {
                round(task.head, factors);
                task.output_gradient = factors.of(task.output_gradient, queries);
                attention_back_loops_.backward(task, memory.floats());
                for (std::size_t key = task.head.keys; key < keys; ++key) {
                    std::fill_n(task.to_k.first + key * task.to_k.stride, task.head.width, 0.f);
                    std::fill_n(task.to_v.first + key * task.to_v.stride, task.head.width, 0.f);
                }
            });
    });
}

} // namespace troupe

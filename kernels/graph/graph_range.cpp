#include "kernels/graph/graph_range.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/graph/fusion.hpp"
#include "kernels/graph/graph_pass.hpp"

namespace troupe {

graph_range::graph_range(const model_graph& graph, layer_range range)
    : slot_of_(graph.values.size()) {
    const std::vector<std::size_t> before = graph.crossing(range.first);
    const std::vector<std::size_t> after = graph.crossing(range.first + range.count);
    for (const std::size_t v : before) {
        inputs_.push_back(graph.values[v]);
        input_slots_.push_back(slot_of_[v] = slots_++);
    }
    for (std::size_t n = range.first; n < range.first + range.count;) {
        const fused_layers fused = fuse(graph, {n, range.first + range.count - n});
        add_step(graph, {n, fused.count}, fused.run);
        n += fused.count;
    }
    for (const std::size_t v : after) {
        outputs_.push_back(graph.values[v]);
        output_slots_.push_back(slot_of_[v]);
    }
    std::vector<bool> read_later(slots_);
    for (const std::size_t slot : output_slots_)
        read_later[slot] = true;
    for (std::size_t s = steps_.size(); s-- > 0;)
        for (std::size_t i = steps_[s].inputs.size(); i-- > 0;) {
            steps_[s].last_use[i] = !read_later[steps_[s].inputs[i]];
            read_later[steps_[s].inputs[i]] = true;
        }
    count_kept(graph, range);
}

void graph_range::count_kept(const model_graph& graph, layer_range range) {
    kept_bytes_.resize(range.count);
    // By value: the value that it shares its memory with.
    std::vector<std::size_t> memory_of(graph.values.size());
    std::iota(memory_of.begin(), memory_of.end(), std::size_t{0});
    std::vector<bool> counted(graph.values.size());
    const auto keep = [&](std::size_t value, std::size_t layer) {
        if (!counted[memory_of[value]])
            kept_bytes_[layer - range.first] += bytes_of(graph.values[value].info);
        counted[memory_of[value]] = true;
    };
    for (const step& s : steps_) {
        const std::size_t last = s.layers.first + s.layers.count - 1;
        const auto& inputs = graph.nodes[s.layers.first].inputs;
        if (s.run->reshapes())
            memory_of[last + 1] = memory_of[inputs[0]];
        if (!s.trained)
            continue;
        const kept_values kept = s.run->kept();
        for (std::size_t i = 0; i < kept.inputs; ++i)
            keep(inputs[i], s.layers.first);
        if (kept.output)
            keep(last + 1, last);
        kept_bytes_[last - range.first] += kept.more_bytes;
    }
}

void graph_range::add_step(const model_graph& graph, layer_range layers,
                           std::shared_ptr<const layer> run) {
    const std::size_t last = layers.first + layers.count - 1;
    step s;
    s.layers = layers;
    s.name = graph.nodes[layers.first].name();
    for (const std::size_t value : graph.nodes[layers.first].inputs) {
        s.inputs.push_back(slot_of_[value]);
        s.wanted.push_back(graph.values[value].trained);
    }
    s.last_use.resize(s.inputs.size());
    s.output = slot_of_[last + 1] = slots_++;
    s.trained = graph.values[last + 1].trained;
    s.first_parameter = parameters_.size();
    s.first_average = averages_.size();
    for (std::size_t n = layers.first; n <= last; ++n) {
        const graph_node& node = graph.nodes[n];
        for (auto& parameter : named_parameters(graph, n))
            parameters_.push_back(std::move(parameter));
        for (auto& average : node.run->averages()) {
            average.name = node.path + "." + average.name;
            averages_.push_back(std::move(average));
        }
        forward_flops_ += node.run->forward_flops();
        backward_flops_ += graph.backward_flops(n);
        if (graph.values[n + 1].trained)
            weight_half_flops_ += node.run->weight_half_flops();
    }
    s.parameter_count = parameters_.size() - s.first_parameter;
    s.average_count = averages_.size() - s.first_average;
    s.run = std::move(run);
    steps_.push_back(std::move(s));
}

result<graph_range::outcome> graph_range::forward(compute_context& context, const pass& p,
                                                  std::vector<activation> inputs) const {
    graph_pass whole = graph_pass::forward(*this, std::move(inputs));
    if (auto done = whole.run_until(context, p, 0); !done)
        return done.failure();
    return whole.take_outcome();
}

result<graph_range::gradients>
graph_range::backward(compute_context& context, const pass& p, std::vector<saved_layer> saved,
                      std::vector<activation> output_gradients) const {
    graph_pass whole = graph_pass::backward(*this, std::move(saved), std::move(output_gradients));
    if (auto done = whole.run_until(context, p, 0); !done)
        return done.failure();
    std::vector<activation> inputs = whole.take_input_gradients();
    auto of_weights = whole.take_weight_gradients(context, p);
    if (!of_weights)
        return of_weights.failure();
    return gradients{std::move(inputs), std::move(*of_weights)};
}

} // namespace troupe

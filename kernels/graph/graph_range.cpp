#include "kernels/graph/graph_range.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/graph/fusion.hpp"
#include "schemas/base/random.hpp"

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
    }
    s.parameter_count = parameters_.size() - s.first_parameter;
    s.average_count = averages_.size() - s.first_average;
    s.run = std::move(run);
    steps_.push_back(std::move(s));
}

namespace {

// The part for a step's layer: its place makes each layer draw different random numbers, also in blocks that are recomputed.
batch_part seen_by(const graph_range::step& s, batch_part part) {
    part.place ^= s.layers.first + 1;
    part.place = split_mix(part.place);
    return part;
}

} // namespace

result<graph_range::outcome> graph_range::forward(compute_context& context, const pass& p,
                                                  std::vector<activation> inputs) const {
    TROUPE_CHECK(inputs.size() == inputs_.size(), "the caller has checked the inputs");
    std::vector<activation> slots(slots_);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        slots[input_slots_[i]] = std::move(inputs[i]);
    outcome done;
    done.saved.resize(steps_.size());
    for (std::size_t k = 0; k < steps_.size(); ++k) {
        const step& s = steps_[k];
        std::vector<activation> read;
        for (std::size_t i = 0; i < s.inputs.size(); ++i)
            read.push_back(s.last_use[i] ? std::move(slots[s.inputs[i]]) : slots[s.inputs[i]]);
        const batch_part part = seen_by(s, p.part);
        const auto averages = part.training ? std::span<const tensor>{}
                                            : p.averages.subspan(s.first_average, s.average_count);
        auto made =
            s.run->forward(context,
                           {part, p.parameters.subspan(s.first_parameter, s.parameter_count),
                            averages, std::move(read)},
                           done.saved[k]);
        if (!made)
            return made.failure().in("forward of " + s.name);
        if (!p.part.training || !s.trained)
            done.saved[k] = {};
        slots[s.output] = std::move(*made);
        if (p.after_step)
            if (auto goes_on = (*p.after_step)(k, slots[s.output]); !goes_on)
                return goes_on.failure();
    }
    for (const std::size_t slot : output_slots_)
        done.outputs.push_back(std::move(slots[slot]));
    return done;
}

namespace {

// sum += more, in new memory if somebody else holds the sum.
result<void> add(compute_context& context, activation& sum, activation more) {
    if (!sum.values) {
        sum = std::move(more);
        return {};
    }
    auto same = in_block(context, std::move(more), sum.block);
    if (!same)
        return same.failure();
    auto target = writable(context, sum.values);
    if (!target)
        return target.failure();
    if (auto done = context.ops.run(add_scaled{sum.values, 1, same->values, *target}); !done)
        return done;
    sum.values = std::move(*target);
    return {};
}

} // namespace

result<graph_range::gradients>
graph_range::backward(compute_context& context, const pass& p, std::vector<saved_layer> saved,
                      std::vector<activation> output_gradients) const {
    TROUPE_CHECK(saved.size() == steps_.size(), "what was saved belongs to this range");
    std::vector<activation> slots(slots_);
    auto given = output_gradients.begin();
    for (std::size_t o = 0; o < outputs_.size(); ++o)
        if (outputs_[o].trained) {
            TROUPE_CHECK(given != output_gradients.end(), "each trained output has a gradient");
            slots[output_slots_[o]] = std::move(*given++);
        }
    gradients done;
    done.parameters.resize(parameters_.size());
    done.statistics.resize(averages_.size());
    for (std::size_t k = steps_.size(); k-- > 0;) {
        const step& s = steps_[k];
        if (!s.trained)
            continue;
        const batch_part part = seen_by(s, p.part);
        auto passed = s.run->backward(
            context, {.part = part,
                      .parameters = p.parameters.subspan(s.first_parameter, s.parameter_count),
                      .saved = std::move(saved[k]),
                      .output_gradient = std::exchange(slots[s.output], {}),
                      .wanted = s.wanted,
                      .as_factors = p.as_factors && s.parameter_count > 0 &&
                                    (*p.as_factors)[s.first_parameter]});
        if (!passed)
            return passed.failure().in("backward of " + s.name);
        TROUPE_CHECK(passed->parameters.size() == s.parameter_count &&
                         passed->statistics.size() == s.average_count,
                     "a layer gives a gradient for each parameter");
        std::ranges::move(passed->parameters,
                          done.parameters.begin() + static_cast<std::ptrdiff_t>(s.first_parameter));
        std::ranges::move(passed->statistics,
                          done.statistics.begin() + static_cast<std::ptrdiff_t>(s.first_average));
        if (p.after_gradients && s.parameter_count > 0)
            if (auto goes_on = (*p.after_gradients)(
                    s.first_parameter,
                    std::span{done.parameters}.subspan(s.first_parameter, s.parameter_count));
                !goes_on)
                return goes_on.failure();
        for (std::size_t i = s.inputs.size(); i-- > 0;)
            if (s.wanted[i])
                if (auto added = add(context, slots[s.inputs[i]], std::move(passed->inputs[i]));
                    !added)
                    return added.failure();
        if (p.after_step)
            if (auto goes_on = (*p.after_step)(k, {}); !goes_on)
                return goes_on.failure();
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i].trained)
            done.inputs.push_back(std::move(slots[input_slots_[i]]));
    return done;
}

} // namespace troupe

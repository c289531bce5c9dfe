#include "kernels/graph/graph_pass.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// The part for a step's layer: its place makes each layer draw different random numbers, also in blocks that are recomputed.
batch_part seen_by(const graph_range::step& s, batch_part part) {
    part.place ^= s.layers.first + 1;
    part.place = split_mix(part.place);
    return part;
}

std::span<const tensor> parameters_of(const graph_range::step& s, const graph_range::pass& p) {
    return p.parameters.subspan(s.first_parameter, s.parameter_count);
}

bool as_factors(const graph_range::step& s, const graph_range::pass& p) {
    return p.as_factors && s.parameter_count > 0 && (*p.as_factors)[s.first_parameter];
}

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

graph_pass::graph_pass(const graph_range& range, kind k)
    : range_{&range}, kind_{k}, slots_(range.slots()),
      saved_(range.steps().size()), left_{range.steps().size()} {}

graph_pass graph_pass::forward(const graph_range& range, std::vector<activation> inputs) {
    TROUPE_CHECK(inputs.size() == range.inputs().size(), "the caller has checked the inputs");
    graph_pass pass{range, kind::forward};
    for (std::size_t i = 0; i < inputs.size(); ++i)
        pass.slots_[range.input_slots()[i]] = std::move(inputs[i]);
    return pass;
}

graph_pass graph_pass::backward(const graph_range& range, std::vector<saved_layer> saved,
                                std::vector<activation> output_gradients, bool in_halves) {
    TROUPE_CHECK(saved.size() == range.steps().size(), "what was saved belongs to this range");
    graph_pass pass{range, in_halves ? kind::backward_in_halves : kind::backward};
    pass.saved_ = std::move(saved);
    auto given = output_gradients.begin();
    for (std::size_t o = 0; o < range.outputs().size(); ++o)
        if (range.outputs()[o].trained) {
            TROUPE_CHECK(given != output_gradients.end(), "each trained output has a gradient");
            pass.slots_[range.output_slots()[o]] = std::move(*given++);
        }
    pass.made_.parameters.resize(range.parameters().size());
    pass.made_.statistics.resize(range.averages().size());
    return pass;
}

result<void> graph_pass::run_until(compute_context& context, const graph_range::pass& p,
                                   std::size_t left) {
    const std::size_t steps = range_->steps().size();
    for (; left_ > left; --left_) {
        const bool is_forward = kind_ == kind::forward;
        const std::size_t k = is_forward ? steps - left_ : left_ - 1;
        if (auto done = is_forward ? step_forward(context, p, k) : step_backward(context, p, k);
            !done)
            return done;
    }
    return {};
}

result<void> graph_pass::step_forward(compute_context& context, const graph_range::pass& p,
                                      std::size_t k) {
    const graph_range::step& s = step(k);
    std::vector<activation> read;
    for (std::size_t i = 0; i < s.inputs.size(); ++i)
        read.push_back(s.last_use[i] ? std::move(slots_[s.inputs[i]]) : slots_[s.inputs[i]]);
    const batch_part part = seen_by(s, p.part);
    const auto averages = part.training ? std::span<const tensor>{}
                                        : p.averages.subspan(s.first_average, s.average_count);
    auto made =
        s.run->forward(context, {part, parameters_of(s, p), averages, std::move(read)}, saved_[k]);
    if (!made)
        return made.failure().in("forward of " + s.name);
    if (!p.part.training || !s.trained)
        saved_[k] = {};
    slots_[s.output] = std::move(*made);
    return p.after_step ? (*p.after_step)(k, slots_[s.output]) : result<void>{};
}

result<void> graph_pass::step_backward(compute_context& context, const graph_range::pass& p,
                                       std::size_t k) {
    const graph_range::step& s = step(k);
    if (!s.trained)
        return {};
    auto passed = s.run->backward(context, {.part = seen_by(s, p.part),
                                            .parameters = parameters_of(s, p),
                                            .saved = std::exchange(saved_[k], {}),
                                            .output_gradient = std::exchange(slots_[s.output], {}),
                                            .wanted = s.wanted,
                                            .as_factors = as_factors(s, p),
                                            .in_halves = kind_ == kind::backward_in_halves});
    if (!passed)
        return passed.failure().in("backward of " + s.name);
    TROUPE_CHECK(passed->parameters.size() == s.parameter_count &&
                     passed->statistics.size() == s.average_count,
                 "a layer gives a gradient for each parameter");
    saved_[k] = std::move(passed->rest);
    std::ranges::move(passed->parameters,
                      made_.parameters.begin() + static_cast<std::ptrdiff_t>(s.first_parameter));
    std::ranges::move(passed->statistics,
                      made_.statistics.begin() + static_cast<std::ptrdiff_t>(s.first_average));
    if (kind_ == kind::backward)
        if (auto given = hand_over(p, k); !given)
            return given;
    for (std::size_t i = s.inputs.size(); i-- > 0;)
        if (s.wanted[i])
            if (auto added = add(context, slots_[s.inputs[i]], std::move(passed->inputs[i]));
                !added)
                return added;
    return p.after_step ? (*p.after_step)(k, {}) : result<void>{};
}

result<void> graph_pass::hand_over(const graph_range::pass& p, std::size_t k) const {
    const graph_range::step& s = step(k);
    if (!p.after_gradients || s.parameter_count == 0)
        return {};
    return (*p.after_gradients)(s.first_parameter, std::span{made_.parameters}.subspan(
                                                       s.first_parameter, s.parameter_count));
}

graph_range::outcome graph_pass::take_outcome() {
    TROUPE_CHECK(left_ == 0, "a pass gives its results when it is done");
    graph_range::outcome done;
    done.saved = std::move(saved_);
    for (const std::size_t slot : range_->output_slots())
        done.outputs.push_back(std::move(slots_[slot]));
    return done;
}

std::vector<activation> graph_pass::take_input_gradients() {
    TROUPE_CHECK(left_ == 0, "a pass gives its results when it is done");
    std::vector<activation> gradients;
    for (std::size_t i = 0; i < range_->inputs().size(); ++i)
        if (range_->inputs()[i].trained)
            gradients.push_back(std::move(slots_[range_->input_slots()[i]]));
    return gradients;
}

result<graph_range::weight_gradients>
graph_pass::take_weight_gradients(compute_context& context, const graph_range::pass& p) {
    TROUPE_CHECK(left_ == 0, "a pass gives its results when it is done");
    for (std::size_t k = range_->steps().size(); k-- > 0 && kind_ == kind::backward_in_halves;)
        if (auto done = second_half_of(context, p, k); !done)
            return done.failure();
    return std::move(made_);
}

result<void> graph_pass::second_half_of(compute_context& context, const graph_range::pass& p,
                                        std::size_t k) {
    const graph_range::step& s = step(k);
    if (!s.trained)
        return {};
    if (!saved_[k].tensors.empty()) {
        auto made = s.run->weight_gradients(context, {.part = seen_by(s, p.part),
                                                      .parameters = parameters_of(s, p),
                                                      .rest = std::exchange(saved_[k], {}),
                                                      .as_factors = as_factors(s, p)});
        if (!made)
            return made.failure().in("backward of " + s.name);
        TROUPE_CHECK(made->size() == s.parameter_count,
                     "a layer gives a gradient for each parameter");
        std::ranges::move(*made, made_.parameters.begin() +
                                     static_cast<std::ptrdiff_t>(s.first_parameter));
    }
    return hand_over(p, k);
}

std::vector<tensor> graph_pass::kept() const {
    std::vector<tensor> all;
    for (const saved_layer& of_step : saved_)
        all.insert(all.end(), of_step.tensors.begin(), of_step.tensors.end());
    for (const tensor& gradient : made_.parameters)
        if (gradient)
            all.push_back(gradient);
    return all;
}

} // namespace troupe

#include "kernels/graph/profile.hpp"

#include <algorithm>

#include "kernels/graph/graph_range.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

result<tensor> noise(compute_context& context, const tensor_shape& shape, std::uint64_t purpose) {
    auto t = tensor::allocate(context.host_memory(), data_type::float32, shape);
    if (!t)
        return t;
    random_stream random{0, purpose};
    for (float& x : t->mutable_values<float>())
        x = static_cast<float>(random.uniform() - 0.5);
    return copied_to_device(context, *t);
}

result<tensor> made_up(compute_context& context, const value_form& form, std::size_t samples) {
    const tensor_shape shape = batch_of(samples, form.shape);
    if (form.type == data_type::float32)
        return noise(context, shape, ~std::uint64_t{0});
    auto t = tensor::allocate(context.host_memory(), form.type, shape);
    if (!t)
        return t;
    random_stream random{0, ~std::uint64_t{0}};
    for (std::int32_t& token : t->mutable_values<std::int32_t>())
        token = static_cast<std::int32_t>(random.below(form.values));
    return copied_to_device(context, *t);
}

// The times of one step, which is a layer or several that run as one.
struct step_time {
    duration forward = duration::max();
    duration backward = duration::max();
};

// Keeps the shortest time of each step.
class stopwatch {
  public:
    stopwatch(const time_source& time, const std::atomic<bool>* given_up)
        : time_{time}, given_up_{given_up}, last_{time.now()} {}

    void start() { last_ = time_.now(); }

    result<void> note(duration& shortest) {
        const time_point now = time_.now();
        shortest = std::min(shortest, now - last_);
        last_ = now;
        if (given_up_ != nullptr && given_up_->load())
            return error{errc::cancelled, "nobody waits for the measurement"};
        return {};
    }

  private:
    const time_source& time_;
    const std::atomic<bool>* given_up_;
    time_point last_;
};

// One forward and backward pass through all steps, as in a stage of the whole model.
result<void> time_once(compute_context& context, const graph_range& run,
                       std::span<const tensor> parameters, std::span<const tensor> averages,
                       std::size_t batch, stopwatch& watch, std::vector<step_time>& times) {
    const batch_part part{.training = true};
    const auto when_done = [&](duration& shortest) {
        auto done = context.ops.wait();
        return done ? watch.note(shortest) : done;
    };
    const graph_range::step_hook after_forward = [&](std::size_t step, const activation&) {
        return when_done(times[step].forward);
    };
    const graph_range::step_hook after_backward = [&](std::size_t step, const activation&) {
        return when_done(times[step].backward);
    };
    auto input = made_up(context, run.inputs()[0].info, batch);
    if (!input)
        return input.failure();
    if (auto there = context.ops.wait(); !there)
        return there;
    watch.start();
    std::vector<activation> values;
    values.push_back({std::move(*input), 1});
    auto forward =
        run.forward(context, {part, parameters, averages, &after_forward}, std::move(values));
    if (!forward)
        return forward.failure();
    watch.start();
    auto backward = run.backward(context, {part, parameters, averages, &after_backward},
                                 std::move(forward->saved), std::move(forward->outputs));
    return backward ? result<void>{} : backward.failure();
}

} // namespace

result<std::vector<layer_time>> profile_layers(compute_context& context, proto::Model::Reader model,
                                               const profile_options& options,
                                               const time_source& time) {
    auto graph = build_graph(model);
    if (!graph)
        return graph.failure();
    const graph_range run{*graph, {0, graph->nodes.size()}};
    std::vector<tensor> parameters;
    for (const auto& parameter : run.parameters()) {
        auto values = noise(context, parameter.shape, parameters.size());
        if (!values)
            return values.failure().in(parameter.name);
        parameters.push_back(std::move(*values));
    }
    std::vector<tensor> averages;
    for (const auto& average : run.averages()) {
        auto values = noise(context, average.shape, averages.size());
        if (!values)
            return values.failure().in(average.name);
        averages.push_back(std::move(*values));
    }
    std::vector<step_time> times(run.steps().size());
    stopwatch watch{time, options.given_up};
    compute_context precise{context.ops, context.memory, precision_of(model), context.host};
    for (std::size_t repetition = 0; repetition <= options.repetitions; ++repetition)
        if (auto done = time_once(precise, run, parameters, averages, options.batch, watch, times);
            !done)
            return done.failure();

    std::vector<layer_time> layers;
    for (std::size_t s = 0; s < times.size(); ++s) {
        const layer_range range = run.steps()[s].layers;
        const auto nodes = std::span{graph->nodes}.subspan(range.first, range.count);
        if (!run.steps()[s].trained)
            times[s].backward = {};
        double flops = 0;
        for (const auto& node : nodes)
            flops += node.run->forward_flops();
        for (const auto& node : nodes) {
            const double share = range.count == 1 ? 1 : node.run->forward_flops() / flops;
            const auto part = [share](duration d) {
                return duration{static_cast<duration::rep>(static_cast<double>(d.count()) * share)};
            };
            layers.push_back({node.name(), part(times[s].forward), part(times[s].backward)});
        }
    }
    return layers;
}

} // namespace troupe

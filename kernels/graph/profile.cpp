#include "kernels/graph/profile.hpp"

#include <algorithm>

#include "kernels/graph/model_walk.hpp"
#include "kernels/layers/kinds.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

result<tensor> noise(compute_context& context, const tensor_shape& shape, std::uint64_t purpose) {
    auto t = tensor::allocate(context.memory, data_type::float32, shape);
    if (t) {
        random_stream random{0, purpose};
        for (float& x : t->mutable_values<float>())
            x = static_cast<float>(random.uniform() - 0.5);
    }
    return t;
}

std::string name_of(const walked_layer& layer) {
    return "layers." + std::to_string(layer.index) + " " + std::string{layer.made->kind()};
}

struct timed_step {
    walked_layer layers;
    std::vector<tensor> parameters;
    saved_layer saved;
    duration forward = duration::max();
    duration backward = duration::max();
};

result<std::vector<timed_step>> prepare(compute_context& context, proto::Model::Reader model,
                                        std::span<const walked_layer> walked) {
    std::vector<timed_step> steps;
    for (auto& joined : join_layers(model, walked)) {
        timed_step step{.layers = joined};
        for (const auto& parameter : joined.made->parameters()) {
            auto values = noise(context, parameter.shape, steps.size());
            if (!values)
                return values.failure().in("the weights of " + name_of(joined));
            step.parameters.push_back(std::move(*values));
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

// One pass forward and back through all steps, as in a stage of the whole model.
result<void> time_once(compute_context& context, std::vector<timed_step>& steps, activation current,
                       const profile_options& options, const clock& time) {
    const auto is_given_up = [&] {
        return options.given_up != nullptr && options.given_up->load();
    };
    const error given_up{errc::cancelled, "nobody waits for the measurement"};
    for (auto& step : steps) {
        if (is_given_up())
            return given_up;
        const time_point start = time.now();
        auto next =
            step.layers.made->forward(context, step.parameters, std::move(current), step.saved);
        if (!next)
            return next.failure().in("forward of " + name_of(step.layers));
        step.forward = std::min(step.forward, time.now() - start);
        current = std::move(*next);
    }
    for (std::size_t i = steps.size(); i-- > 0;) {
        if (is_given_up())
            return given_up;
        auto& step = steps[i];
        const time_point start = time.now();
        auto passed = step.layers.made->backward(
            context, {step.parameters, std::move(step.saved), std::move(current), i > 0});
        if (!passed)
            return passed.failure().in("backward of " + name_of(step.layers));
        step.backward = std::min(step.backward, time.now() - start);
        step.saved = {};
        current = std::move(passed->input);
    }
    return {};
}

} // namespace

result<std::vector<layer_time>> profile_layers(compute_context& context, proto::Model::Reader model,
                                               const profile_options& options, const clock& time) {
    auto walked = walk_model(model);
    if (!walked)
        return walked.failure();
    auto steps = prepare(context, model, *walked);
    if (!steps)
        return steps.failure();
    for (std::size_t repetition = 0; repetition <= options.repetitions; ++repetition) {
        auto input =
            noise(context, batch_of(options.batch, walked->front().input_shape), ~std::uint64_t{0});
        if (!input)
            return input.failure();
        if (auto done = time_once(context, *steps, {std::move(*input), 1}, options, time); !done)
            return done.failure();
    }
    std::vector<layer_time> times;
    for (const auto& step : *steps) {
        double flops = 0;
        const auto layers = std::span{*walked}.subspan(step.layers.index, step.layers.count);
        for (const auto& layer : layers)
            flops += layer.made->forward_flops();
        for (const auto& layer : layers) {
            const double share = layer.made->forward_flops() / flops;
            const auto part = [share](duration d) {
                return duration{static_cast<duration::rep>(static_cast<double>(d.count()) * share)};
            };
            times.push_back({name_of(layer), part(step.forward), part(step.backward)});
        }
    }
    return times;
}

} // namespace troupe

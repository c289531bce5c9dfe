#include <algorithm>
#include <array>
#include <span>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

// Updates and sums: no gradients. Inputs: gradient, weight, and two of what an optimizer keeps, squared.
struct update_case final : operation_case {
    tensor_shape shape;

    explicit update_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "updates, add_scaled, fill " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape, shape, shape, shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return 75 * count(shape); }
    double backward_flops() const override { return 0; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        struct state {
            std::vector<tensor> kept, outputs;
        };
        auto s = std::make_shared<state>();
        for (const std::size_t i : {2, 3}) {
            tensor squared = poisoned(context, shape);
            std::ranges::transform(inputs[i].values<float>(),
                                   squared.mutable_values<float>().begin(),
                                   [](float x) { return x * x; });
            s->kept.push_back(squared);
        }
        for (int i = 0; i < 25; ++i)
            s->outputs.push_back(poisoned(context, shape));
        s->outputs.push_back(poisoned(context, {1}));
        auto& ops = context.ops;
        return {[=, &ops] {
                    return run_all(ops, inputs[0], inputs[1], s->kept[0], s->kept[1], s->outputs);
                },
                nullptr, [=] { return s->outputs; }, nullptr};
    }

    static result<void> run_all(operations& ops, const tensor& g, const tensor& w, const tensor& a,
                                const tensor& b, std::vector<tensor>& o) {
        // Each writes the next outputs: the weight, then its state.
        std::size_t next = 0;
        const std::array state{a, b};
        const auto step = [&](const auto& settings) {
            const std::size_t kept = state_of(settings).size();
            tensor& new_weight = o[next];
            const auto new_state = std::span{o}.subspan(next + 1, kept);
            next += 1 + kept;
            return ops.run(
                weight_update{settings, update_operands{.learning_rate = 0.1f,
                                                        .step = 3,
                                                        .gradient = g,
                                                        .weight = w,
                                                        .state = std::span{state}.first(kept),
                                                        .new_weight = new_weight,
                                                        .new_state = new_state}});
        };
        const auto sgd = [](float momentum, bool nesterov) {
            return sgd_settings{.momentum = momentum,
                                .weight_decay = 0.01f,
                                .gradient_scale = 0.5f,
                                .nesterov = nesterov};
        };
        double sum = 0;
        const result<void> done[] = {step(sgd(0, false)),
                                     step(sgd(0.9f, false)),
                                     step(sgd(0.9f, true)),
                                     step(adam_settings{.weight_decay = 0.01f}),
                                     step(adam_settings{.weight_decay = 0.01f, .decoupled = true}),
                                     step(lamb_settings{.weight_decay = 0.01f}),
                                     step(adagrad_settings{.weight_decay = 0.01f}),
                                     step(rmsprop_settings{.weight_decay = 0.01f}),
                                     step(adadelta_settings{.weight_decay = 0.01f}),
                                     ops.run(add_scaled{g, -0.3f, w, o[next]}),
                                     ops.run(clip{g, 0.5f, o[next + 1]}),
                                     ops.run(fill{o[next + 2], 0.25f}),
                                     ops.run(scale{g, 0.3f, o[next + 3]}),
                                     ops.run(sum_of_squares{w, sum})};
        TROUPE_CHECK(next + 5 == o.size(), "every output is written");
        o.back().mutable_values<float>()[0] = static_cast<float>(sum);
        for (const auto& outcome : done)
            if (!outcome)
                return outcome;
        return {};
    }
};

// What replicas send: late gradients, and several of which some are nonsense. Inputs: five of them.
struct gradients_case final : operation_case {
    tensor_shape shape;

    explicit gradients_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override {
        return "compensate_delay, trimmed_mean, largest_difference " + by(shape);
    }
    std::vector<tensor_shape> input_shapes() const override {
        return {shape, shape, shape, shape, shape};
    }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return 60 * count(shape); }
    double backward_flops() const override { return 0; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        auto outputs = std::make_shared<std::vector<tensor>>();
        for (int i = 0; i < 6; ++i)
            outputs->push_back(poisoned(context, shape));
        outputs->push_back(poisoned(context, {1}));
        tensor square = poisoned(context, shape);
        std::ranges::transform(inputs[3].values<float>(), square.mutable_values<float>().begin(),
                               [](float x) { return x * x; });
        auto& ops = context.ops;
        return {[=, &ops]() -> result<void> {
                    auto& o = *outputs;
                    const auto& in = inputs;
                    const std::span all{in};
                    float largest = 0;
                    const result<void> done[] = {
                        ops.run(compensate_delay{0.3f, in[0], in[1], in[2], o[0]}),
                        ops.run(compensate_delay{0.3f, in[0], in[1], in[2], o[1], 0.95f, &square,
                                                 &o[2]}),
                        ops.run(trimmed_mean{all, 2, o[3]}),
                        ops.run(trimmed_mean{all, 1, o[4]}),
                        ops.run(trimmed_mean{all.first(4), 0, o[5]}),
                        ops.run(largest_difference{in[0], in[1], largest})};
                    o[6].mutable_values<float>()[0] = largest;
                    for (const auto& outcome : done)
                        if (!outcome)
                            return outcome;
                    return {};
                },
                nullptr, [=] { return *outputs; }, nullptr};
    }
};

} // namespace

void add_updates_cases(cases& to) {
    add<update_case>(to, tensor_shape{1});
    add<update_case>(to, tensor_shape{5, 37});
    add<update_case>(to, tensor_shape{3, 1100}); // several blocks of a GPU
    add<gradients_case>(to, tensor_shape{1});
    add<gradients_case>(to, tensor_shape{5, 37});
    add<gradients_case>(to, tensor_shape{3, 1100});
}

void add_timed_updates_cases(cases& to, std::size_t) {
    add<update_case>(to, tensor_shape{128, 3136});
    add<gradients_case>(to, tensor_shape{128, 3136});
}

} // namespace troupe::test

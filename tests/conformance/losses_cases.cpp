#include <algorithm>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct cross_entropy_case final : operation_case {
    tensor_shape logits;
    float smoothing;
    bool ignores; // every third label

    cross_entropy_case(tensor_shape logits, float smoothing, bool ignores)
        : logits{logits}, smoothing{smoothing}, ignores{ignores} {}

    std::string name() const override {
        return "softmax_cross_entropy " + by(logits) +
               (smoothing > 0 ? ", smoothing " + std::to_string(smoothing) : "") +
               (ignores ? ", ignored -100" : "");
    }
    std::vector<tensor_shape> input_shapes() const override { return {logits}; }
    tensor_shape output_shape() const override { return {1}; }
    double forward_flops() const override { return 4 * count(logits); }

    std::vector<tensor> constants(compute_context& context) const override {
        const auto axes = logits.dimensions();
        tensor made =
            poisoned(context, tensor_shape{axes.first(axes.size() - 1)}, data_type::int32);
        const auto values = made.mutable_values<std::int32_t>();
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] =
                ignores && i % 3 == 1 ? -100 : static_cast<std::int32_t>(i * 7 % axes.back());
        return {made};
    }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor labels, loss, counts, to_input;
        };
        auto s = std::make_shared<state>();
        *s = {constants(context)[0], poisoned(context, {1}), poisoned(context, {2}),
              poisoned(context, logits)};
        const float scale = output_gradient.values<float>()[0];
        auto& ops = context.ops;
        const auto run = [=, this, &ops](tensor* gradient) -> result<void> {
            softmax_cross_entropy_sums sums;
            const softmax_cross_entropy op{
                .logits = inputs[0],
                .labels = s->labels,
                .scale = scale,
                .gradient = gradient,
                .sums = sums,
                .label_smoothing = smoothing,
                .ignored_label = ignores ? std::optional<std::int32_t>{-100} : std::nullopt};
            if (auto done = ops.run(op); !done)
                return done;
            s->loss.mutable_values<float>()[0] = static_cast<float>(sums.loss);
            s->counts.mutable_values<float>()[0] = static_cast<float>(sums.counted);
            s->counts.mutable_values<float>()[1] = static_cast<float>(sums.correct);
            return {};
        };
        return {[=] { return run(nullptr); }, [=] { return run(&s->to_input); },
                [=] {
                    return std::vector{s->loss, s->counts};
                },
                [=] { return std::vector{s->to_input}; }};
    }
};

struct squared_error_case final : operation_case {
    tensor_shape shape;

    explicit squared_error_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "mean_squared_error " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape}; }
    tensor_shape output_shape() const override { return {1}; }
    double forward_flops() const override { return 3 * count(shape); }
    double backward_flops() const override { return 5 * count(shape); }

    std::vector<tensor> constants(compute_context& context) const override {
        tensor targets = poisoned(context, shape);
        const auto values = targets.mutable_values<float>();
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i % 5) * 0.3f - 0.5f;
        return {targets};
    }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor targets, loss, to_input;
        };
        auto s = std::make_shared<state>();
        *s = {constants(context)[0], poisoned(context, {1}), poisoned(context, shape)};
        const float scale = output_gradient.values<float>()[0];
        auto& ops = context.ops;
        const auto run = [=, &ops](tensor* gradient) -> result<void> {
            double sum = 0;
            auto done = ops.run(mean_squared_error{inputs[0], s->targets, scale, gradient, sum});
            s->loss.mutable_values<float>()[0] = static_cast<float>(sum);
            return done;
        };
        return {[=] { return run(nullptr); }, [=] { return run(&s->to_input); },
                [=] { return std::vector{s->loss}; }, [=] { return std::vector{s->to_input}; }};
    }
};

} // namespace

void add_losses_cases(cases& to) {
    add<cross_entropy_case>(to, tensor_shape{1, 2}, 0.f, false);
    add<cross_entropy_case>(to, tensor_shape{5, 10}, 0.f, false);
    add<cross_entropy_case>(to, tensor_shape{3, 129}, 0.1f, false);
    add<cross_entropy_case>(to, tensor_shape{2, 3, 17}, 0.f, true);
    add<cross_entropy_case>(to, tensor_shape{3, 2, 2, 1050}, 0.2f, true);
    add<cross_entropy_case>(to, tensor_shape{19, 7}, 0.1f, true); // rows of several blocks of warps
    add<squared_error_case>(to, tensor_shape{4});
    add<squared_error_case>(to, tensor_shape{3, 5, 211});
}

void add_timed_losses_cases(cases& to, std::size_t batch) {
    add<cross_entropy_case>(to, tensor_shape{batch, 10}, 0.f, false);
    add<cross_entropy_case>(to, tensor_shape{8, 256, 256}, 0.1f, false);
    add<cross_entropy_case>(to, tensor_shape{8, 256, 8192}, 0.1f, false);
    add<squared_error_case>(to, tensor_shape{8, 256, 256});
}

} // namespace troupe::test

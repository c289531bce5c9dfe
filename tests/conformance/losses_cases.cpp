#include <algorithm>
#include <array>
#include <tuple>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct loss_case final : operation_case {
    std::size_t samples, classes;

    loss_case(std::size_t samples, std::size_t classes) : samples{samples}, classes{classes} {}

    std::string name() const override { return "softmax_cross_entropy " + by({samples, classes}); }
    std::vector<tensor_shape> input_shapes() const override { return {{samples, classes}}; }
    tensor_shape output_shape() const override { return {1}; }
    double forward_flops() const override { return 4 * count({samples, classes}); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor labels, loss, correct, to_input;
        };
        auto s = std::make_shared<state>();
        *s = {poisoned(context, {samples}, data_type::int32), poisoned(context, {1}),
              poisoned(context, {1}), poisoned(context, {samples, classes})};
        for (std::size_t i = 0; i < samples; ++i)
            s->labels.mutable_values<std::int32_t>()[i] =
                static_cast<std::int32_t>(i * 7 % classes);
        const float scale = output_gradient.values<float>()[0];
        auto& ops = context.ops;
        const auto run = [=, &ops](tensor* gradient) -> result<void> {
            softmax_cross_entropy_sums sums;
            if (auto done =
                    ops.run(softmax_cross_entropy{inputs[0], s->labels, scale, gradient, sums});
                !done)
                return done;
            s->loss.mutable_values<float>()[0] = static_cast<float>(sums.loss);
            s->correct.mutable_values<float>()[0] = static_cast<float>(sums.correct);
            return {};
        };
        return {[=] { return run(nullptr); }, [=] { return run(&s->to_input); },
                [=] {
                    return std::vector{s->loss, s->correct};
                },
                [=] { return std::vector{s->to_input}; }};
    }
};

} // namespace

void add_losses_cases(cases& to) {
    add<loss_case>(to, 1u, 2u);
    add<loss_case>(to, 5u, 10u);
    add<loss_case>(to, 3u, 129u);
}

void add_timed_losses_cases(cases& to, std::size_t batch) {
    add<loss_case>(to, batch, 10u);
}

} // namespace troupe::test

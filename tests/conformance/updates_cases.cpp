#include <algorithm>
#include <array>
#include <tuple>

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
    double forward_flops() const override { return 60 * count(shape); }
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
        for (int i = 0; i < 22; ++i)
            s->outputs.push_back(poisoned(context, i == 19 ? tensor_shape{1} : shape));
        auto& ops = context.ops;
        return {[=, &ops] {
                    return run_all(ops, inputs[0], inputs[1], s->kept[0], s->kept[1], s->outputs);
                },
                nullptr, [=] { return s->outputs; }, nullptr};
    }

    static result<void> run_all(operations& ops, const tensor& g, const tensor& w, const tensor& a,
                                const tensor& b, std::vector<tensor>& o) {
        const auto sgd = [&](float momentum, bool nesterov, std::size_t first) {
            return ops.run(sgd_update{.learning_rate = 0.1f,
                                      .momentum = momentum,
                                      .weight_decay = 0.01f,
                                      .gradient_scale = 0.5f,
                                      .nesterov = nesterov,
                                      .gradient = g,
                                      .weight = w,
                                      .velocity = momentum != 0 ? &a : nullptr,
                                      .new_weight = o[first],
                                      .new_velocity = momentum != 0 ? &o[first + 1] : nullptr});
        };
        const auto adam = [&](bool decoupled, std::size_t first) {
            return ops.run(adam_update{.learning_rate = 0.1f,
                                       .weight_decay = 0.01f,
                                       .decoupled = decoupled,
                                       .step = 3,
                                       .gradient = g,
                                       .weight = w,
                                       .mean = a,
                                       .squares = b,
                                       .new_weight = o[first],
                                       .new_mean = o[first + 1],
                                       .new_squares = o[first + 2]});
        };
        double sum = 0;
        const result<void> done[] = {sgd(0, false, 0),
                                     sgd(0.9f, false, 1),
                                     sgd(0.9f, true, 3),
                                     adam(false, 5),
                                     adam(true, 8),
                                     ops.run(adagrad_update{.learning_rate = 0.1f,
                                                            .weight_decay = 0.01f,
                                                            .gradient = g,
                                                            .weight = w,
                                                            .squares = a,
                                                            .new_weight = o[11],
                                                            .new_squares = o[12]}),
                                     ops.run(rmsprop_update{.learning_rate = 0.1f,
                                                            .weight_decay = 0.01f,
                                                            .gradient = g,
                                                            .weight = w,
                                                            .squares = a,
                                                            .new_weight = o[13],
                                                            .new_squares = o[14]}),
                                     ops.run(adadelta_update{.learning_rate = 0.1f,
                                                             .weight_decay = 0.01f,
                                                             .gradient = g,
                                                             .weight = w,
                                                             .squares = a,
                                                             .step_squares = b,
                                                             .new_weight = o[15],
                                                             .new_squares = o[16],
                                                             .new_step_squares = o[17]}),
                                     ops.run(add_scaled{g, -0.3f, w, o[18]}),
                                     ops.run(sum_of_squares{w, sum}),
                                     ops.run(clip{g, 0.5f, o[20]}),
                                     ops.run(fill{o[21], 0.25f})};
        o[19].mutable_values<float>()[0] = static_cast<float>(sum);
        for (const auto& outcome : done)
            if (!outcome)
                return outcome;
        return {};
    }
};

// The direction of LAMB; apart, as it has outputs of its own.
struct lamb_case final : operation_case {
    tensor_shape shape;

    explicit lamb_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "lamb_direction " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape, shape, shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return 14 * count(shape); }
    double backward_flops() const override { return 0; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        auto o = std::make_shared<std::vector<tensor>>();
        for (int i = 0; i < 3; ++i)
            o->push_back(poisoned(context, shape));
        auto squares = std::make_shared<tensor>(poisoned(context, shape));
        std::ranges::transform(inputs[2].values<float>(), squares->mutable_values<float>().begin(),
                               [](float x) { return x * x; });
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(lamb_direction{.weight_decay = 0.01f,
                                                  .step = 2,
                                                  .gradient = inputs[0],
                                                  .weight = inputs[1],
                                                  .mean = inputs[2],
                                                  .squares = *squares,
                                                  .direction = (*o)[0],
                                                  .new_mean = (*o)[1],
                                                  .new_squares = (*o)[2]});
                },
                nullptr, [=] { return *o; }, nullptr};
    }
};

} // namespace

void add_updates_cases(cases& to) {
    add<update_case>(to, tensor_shape{1});
    add<update_case>(to, tensor_shape{5, 37});
    add<lamb_case>(to, tensor_shape{5, 37});
}

void add_timed_updates_cases(cases& to, std::size_t) {
    add<update_case>(to, tensor_shape{128, 3136});
}

} // namespace troupe::test

// Rules that scale the step of each weight by its norm, so that large batches may take large steps.
#include <cmath>

#include "kernels/ops/ops.hpp"
#include "kernels/optim/rules.hpp"

namespace troupe {

namespace {

result<double> norm(compute_context& context, const tensor& t) {
    double squares = 0;
    if (auto done = context.ops.run(sum_of_squares{t, squares}); !done)
        return done.failure();
    return std::sqrt(squares);
}

// A bias has one dimension, a weight more.
bool is_scaled(const tensor& parameter) {
    return parameter.shape().rank() > 1;
}

// You, Gitman and Ginsburg 2017, algorithm 1: the gradient, weight decay included, is multiplied by
// trust * |w| / (|g| + weight_decay * |w|) and goes the way of sgd with momentum.
class lars final : public optimizer {
  public:
    explicit lars(proto::Lars::Reader s)
        : settings_{.momentum = s.getMomentum(), .weight_decay = s.getWeightDecay()},
          trust_{s.getTrust()} {}

    std::span<const std::string_view> state() const noexcept override {
        return state_of(settings_);
    }

  private:
    result<void> update(compute_context& context, const update_operands& operands) const override {
        auto ratio = ratio_of(context, operands);
        if (!ratio)
            return ratio.failure();
        sgd_settings scaled = settings_;
        scaled.gradient_scale = *ratio;
        return context.ops.run(sgd_update{scaled, operands});
    }

    result<float> ratio_of(compute_context& context, const update_operands& operands) const {
        if (!is_scaled(operands.weight))
            return 1.f;
        const auto weight = norm(context, operands.weight);
        const auto gradient = norm(context, operands.gradient);
        if (!weight || !gradient)
            return (weight ? gradient : weight).failure();
        const double below = *gradient + double{settings_.weight_decay} * *weight;
        return *weight > 0 && below > 0 ? static_cast<float>(double{trust_} * *weight / below)
                                        : 1.f;
    }

    sgd_settings settings_;
    float trust_;
};

// You et al. 2020, algorithm 2: Adam's step, with weight decay, of the length of the weight.
class lamb final : public optimizer {
  public:
    explicit lamb(proto::Lamb::Reader s)
        : settings_{.beta1 = s.getBeta1(),
                    .beta2 = s.getBeta2(),
                    .epsilon = s.getEpsilon(),
                    .weight_decay = s.getWeightDecay()} {}

    std::span<const std::string_view> state() const noexcept override {
        return state_of(settings_);
    }

  private:
    result<void> update(compute_context& context, const update_operands& operands) const override {
        const tensor& weight = operands.weight;
        auto direction = tensor::allocate(context.memory, data_type::float32, weight.shape());
        if (!direction)
            return direction.failure();
        auto done = context.ops.run(lamb_direction{settings_,
                                                   {.learning_rate = operands.learning_rate,
                                                    .step = operands.step,
                                                    .gradient = operands.gradient,
                                                    .weight = weight,
                                                    .state = operands.state,
                                                    .new_weight = *direction,
                                                    .new_state = operands.new_state}});
        if (!done)
            return done;
        auto ratio = ratio_of(context, weight, *direction);
        if (!ratio)
            return ratio.failure();
        return context.ops.run(
            add_scaled{weight, -operands.learning_rate * *ratio, *direction, operands.new_weight});
    }

    result<float> ratio_of(compute_context& context, const tensor& weight,
                           const tensor& direction) const {
        if (!is_scaled(weight))
            return 1.f;
        const auto length = norm(context, weight);
        const auto step = norm(context, direction);
        if (!length || !step)
            return (length ? step : length).failure();
        return *length > 0 && *step > 0 ? static_cast<float>(*length / *step) : 1.f;
    }

    lamb_settings settings_;
};

} // namespace

optimizer_ptr make_lars(proto::Lars::Reader settings) {
    return std::make_shared<lars>(settings);
}
optimizer_ptr make_lamb(proto::Lamb::Reader settings) {
    return std::make_shared<lamb>(settings);
}

} // namespace troupe

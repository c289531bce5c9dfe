// Rules that scale the step of each weight by its norm, so that large batches may take large steps.
#include <array>
#include <cmath>

#include "kernels/ops/ops.hpp"
#include "kernels/optim/rules.hpp"

namespace troupe {

namespace {

constexpr std::array<std::string_view, 1> velocity{"momentum_buffer"};
constexpr std::array<std::string_view, 2> moments{"exp_avg", "exp_avg_sq"};

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
        : momentum_{s.getMomentum()}, weight_decay_{s.getWeightDecay()}, trust_{s.getTrust()} {}

    std::span<const std::string_view> state() const noexcept override {
        return std::span{velocity}.first(momentum_ != 0 ? 1 : 0);
    }

  private:
    result<void> update(compute_context& context, const parameter_step& step) const override {
        auto ratio = rate_of(context, step);
        if (!ratio)
            return ratio.failure();
        const bool has_velocity = momentum_ != 0;
        return context.ops.run(
            sgd_update{.learning_rate = step.learning_rate,
                       .momentum = momentum_,
                       .weight_decay = weight_decay_,
                       .gradient_scale = *ratio,
                       .gradient = step.gradient,
                       .weight = step.weight,
                       .velocity = has_velocity ? &step.state[0] : nullptr,
                       .new_weight = step.new_weight,
                       .new_velocity = has_velocity ? &step.new_state[0] : nullptr});
    }

    result<float> rate_of(compute_context& context, const parameter_step& step) const {
        if (!is_scaled(step.weight))
            return 1.f;
        const auto weight = norm(context, step.weight);
        const auto gradient = norm(context, step.gradient);
        if (!weight || !gradient)
            return (weight ? gradient : weight).failure();
        const double below = *gradient + double{weight_decay_} * *weight;
        return *weight > 0 && below > 0 ? static_cast<float>(double{trust_} * *weight / below)
                                        : 1.f;
    }

    float momentum_;
    float weight_decay_;
    float trust_;
};

// You et al. 2020, algorithm 2: Adam's step, with weight decay, of the length of the weight.
class lamb final : public optimizer {
  public:
    explicit lamb(proto::Lamb::Reader s)
        : beta1_{s.getBeta1()}, beta2_{s.getBeta2()}, epsilon_{s.getEpsilon()},
          weight_decay_{s.getWeightDecay()} {}

    std::span<const std::string_view> state() const noexcept override { return moments; }

  private:
    result<void> update(compute_context& context, const parameter_step& step) const override {
        auto direction = tensor::allocate(context.memory, data_type::float32, step.weight.shape());
        if (!direction)
            return direction.failure();
        auto done = context.ops.run(lamb_direction{.beta1 = beta1_,
                                                   .beta2 = beta2_,
                                                   .epsilon = epsilon_,
                                                   .weight_decay = weight_decay_,
                                                   .step = step.number,
                                                   .gradient = step.gradient,
                                                   .weight = step.weight,
                                                   .mean = step.state[0],
                                                   .squares = step.state[1],
                                                   .direction = *direction,
                                                   .new_mean = step.new_state[0],
                                                   .new_squares = step.new_state[1]});
        if (!done)
            return done;
        auto ratio = ratio_of(context, step.weight, *direction);
        if (!ratio)
            return ratio.failure();
        return context.ops.run(
            add_scaled{step.weight, -step.learning_rate * *ratio, *direction, step.new_weight});
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

    float beta1_;
    float beta2_;
    float epsilon_;
    float weight_decay_;
};

} // namespace

optimizer_ptr make_lars(proto::Lars::Reader settings) {
    return std::make_shared<lars>(settings);
}
optimizer_ptr make_lamb(proto::Lamb::Reader settings) {
    return std::make_shared<lamb>(settings);
}

} // namespace troupe

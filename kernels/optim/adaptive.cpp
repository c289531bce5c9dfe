// Rules that divide each element's step by what its gradients have been.
#include <array>

#include "kernels/ops/ops.hpp"
#include "kernels/optim/rules.hpp"

namespace troupe {

namespace {

constexpr std::array<std::string_view, 1> sum_of_gradients{"sum"};
constexpr std::array<std::string_view, 2> averages{"square_avg", "acc_delta"};
constexpr std::array<std::string_view, 2> moments{"exp_avg", "exp_avg_sq"};

class adagrad final : public optimizer {
  public:
    explicit adagrad(proto::Adagrad::Reader s)
        : epsilon_{s.getEpsilon()}, weight_decay_{s.getWeightDecay()} {}

    std::span<const std::string_view> state() const noexcept override { return sum_of_gradients; }

  private:
    result<void> update(compute_context& context, const parameter_step& step) const override {
        return context.ops.run(adagrad_update{.learning_rate = step.learning_rate,
                                              .epsilon = epsilon_,
                                              .weight_decay = weight_decay_,
                                              .gradient = step.gradient,
                                              .weight = step.weight,
                                              .squares = step.state[0],
                                              .new_weight = step.new_weight,
                                              .new_squares = step.new_state[0]});
    }

    float epsilon_;
    float weight_decay_;
};

class rmsprop final : public optimizer {
  public:
    explicit rmsprop(proto::Rmsprop::Reader s)
        : decay_{s.getDecay()}, epsilon_{s.getEpsilon()}, weight_decay_{s.getWeightDecay()} {}

    std::span<const std::string_view> state() const noexcept override {
        return std::span{averages}.first(1);
    }

  private:
    result<void> update(compute_context& context, const parameter_step& step) const override {
        return context.ops.run(rmsprop_update{.learning_rate = step.learning_rate,
                                              .decay = decay_,
                                              .epsilon = epsilon_,
                                              .weight_decay = weight_decay_,
                                              .gradient = step.gradient,
                                              .weight = step.weight,
                                              .squares = step.state[0],
                                              .new_weight = step.new_weight,
                                              .new_squares = step.new_state[0]});
    }

    float decay_;
    float epsilon_;
    float weight_decay_;
};

class adadelta final : public optimizer {
  public:
    explicit adadelta(proto::Adadelta::Reader s)
        : decay_{s.getDecay()}, epsilon_{s.getEpsilon()}, weight_decay_{s.getWeightDecay()} {}

    std::span<const std::string_view> state() const noexcept override { return averages; }

  private:
    result<void> update(compute_context& context, const parameter_step& step) const override {
        return context.ops.run(adadelta_update{.learning_rate = step.learning_rate,
                                               .decay = decay_,
                                               .epsilon = epsilon_,
                                               .weight_decay = weight_decay_,
                                               .gradient = step.gradient,
                                               .weight = step.weight,
                                               .squares = step.state[0],
                                               .step_squares = step.state[1],
                                               .new_weight = step.new_weight,
                                               .new_squares = step.new_state[0],
                                               .new_step_squares = step.new_state[1]});
    }

    float decay_;
    float epsilon_;
    float weight_decay_;
};

class adam final : public optimizer {
  public:
    template <class Settings>
    adam(Settings s, bool decoupled)
        : beta1_{s.getBeta1()}, beta2_{s.getBeta2()}, epsilon_{s.getEpsilon()},
          weight_decay_{s.getWeightDecay()}, decoupled_{decoupled} {}

    std::span<const std::string_view> state() const noexcept override { return moments; }

  private:
    result<void> update(compute_context& context, const parameter_step& step) const override {
        return context.ops.run(adam_update{.learning_rate = step.learning_rate,
                                           .beta1 = beta1_,
                                           .beta2 = beta2_,
                                           .epsilon = epsilon_,
                                           .weight_decay = weight_decay_,
                                           .decoupled = decoupled_,
                                           .step = step.number,
                                           .gradient = step.gradient,
                                           .weight = step.weight,
                                           .mean = step.state[0],
                                           .squares = step.state[1],
                                           .new_weight = step.new_weight,
                                           .new_mean = step.new_state[0],
                                           .new_squares = step.new_state[1]});
    }

    float beta1_;
    float beta2_;
    float epsilon_;
    float weight_decay_;
    bool decoupled_;
};

} // namespace

optimizer_ptr make_adagrad(proto::Adagrad::Reader settings) {
    return std::make_shared<adagrad>(settings);
}
optimizer_ptr make_rmsprop(proto::Rmsprop::Reader settings) {
    return std::make_shared<rmsprop>(settings);
}
optimizer_ptr make_adadelta(proto::Adadelta::Reader settings) {
    return std::make_shared<adadelta>(settings);
}
optimizer_ptr make_adam(proto::Adam::Reader settings) {
    return std::make_shared<adam>(settings, false);
}
optimizer_ptr make_adamw(proto::Adamw::Reader settings) {
    return std::make_shared<adam>(settings, true);
}

} // namespace troupe

#include "kernels/optim/rules.hpp"

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

sgd_settings settings_of(proto::Sgd::Reader s) {
    return {.momentum = s.getMomentum(),
            .weight_decay = s.getWeightDecay(),
            .nesterov = s.getNesterov()};
}
adagrad_settings settings_of(proto::Adagrad::Reader s) {
    return {.epsilon = s.getEpsilon(), .weight_decay = s.getWeightDecay()};
}
rmsprop_settings settings_of(proto::Rmsprop::Reader s) {
    return {.decay = s.getDecay(), .epsilon = s.getEpsilon(), .weight_decay = s.getWeightDecay()};
}
adadelta_settings settings_of(proto::Adadelta::Reader s) {
    return {.decay = s.getDecay(), .epsilon = s.getEpsilon(), .weight_decay = s.getWeightDecay()};
}
template <class Adam>
adam_settings adam_settings_of(Adam s, bool decoupled) {
    return {.beta1 = s.getBeta1(),
            .beta2 = s.getBeta2(),
            .epsilon = s.getEpsilon(),
            .weight_decay = s.getWeightDecay(),
            .decoupled = decoupled};
}
adam_settings settings_of(proto::Adam::Reader s) {
    return adam_settings_of(s, false);
}
adam_settings settings_of(proto::Adamw::Reader s) {
    return adam_settings_of(s, true);
}

// A rule that is one operation.
template <class Settings>
class elementwise_rule final : public optimizer {
  public:
    explicit elementwise_rule(const Settings& settings) : settings_{settings} {}

    std::span<const std::string_view> state() const noexcept override {
        return state_of(settings_);
    }

  private:
    result<void> update(compute_context& context, const update_operands& operands) const override {
        return context.ops.run(weight_update<Settings>{settings_, operands});
    }

    Settings settings_;
};

template <class Description>
optimizer_ptr make_rule(Description description) {
    const auto settings = settings_of(description);
    return std::make_shared<elementwise_rule<std::remove_const_t<decltype(settings)>>>(settings);
}
optimizer_ptr make_rule(proto::Lars::Reader description) {
    return make_lars(description);
}
optimizer_ptr make_rule(proto::Lamb::Reader description) {
    return make_lamb(description);
}

// Calls f with the description of the chosen rule; a default value for one that this build does not know.
template <class Result, class Function>
Result with_rule(proto::Optimizer::Reader description, Function f) {
    switch (description.which()) {
    case proto::Optimizer::SGD:
        return f(description.getSgd());
    case proto::Optimizer::ADAGRAD:
        return f(description.getAdagrad());
    case proto::Optimizer::RMSPROP:
        return f(description.getRmsprop());
    case proto::Optimizer::ADADELTA:
        return f(description.getAdadelta());
    case proto::Optimizer::ADAM:
        return f(description.getAdam());
    case proto::Optimizer::ADAMW:
        return f(description.getAdamw());
    case proto::Optimizer::LARS:
        return f(description.getLars());
    case proto::Optimizer::LAMB:
        return f(description.getLamb());
    }
    return Result{};
}

} // namespace

optimizer_ptr make_optimizer(proto::Optimizer::Reader description) {
    return with_rule<optimizer_ptr>(description, [](auto rule) { return make_rule(rule); });
}

bool counts_updates(proto::Optimizer::Reader description) noexcept {
    return description.isAdam() || description.isAdamw() || description.isLamb();
}

float base_learning_rate(proto::Optimizer::Reader description) {
    return with_rule<float>(description, [](auto rule) { return rule.getLearningRate(); });
}

} // namespace troupe

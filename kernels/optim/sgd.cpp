#include <array>

#include "kernels/ops/ops.hpp"
#include "kernels/optim/rules.hpp"

namespace troupe {

namespace {

constexpr std::array<std::string_view, 1> kept{"momentum_buffer"};

class sgd final : public optimizer {
  public:
    explicit sgd(proto::Sgd::Reader s)
        : momentum_{s.getMomentum()}, weight_decay_{s.getWeightDecay()}, nesterov_{
                                                                             s.getNesterov()} {}

    std::span<const std::string_view> state() const noexcept override {
        return std::span{kept}.first(momentum_ != 0 ? 1 : 0);
    }

  private:
    result<void> update(compute_context& context, const parameter_step& step) const override {
        const bool has_velocity = momentum_ != 0;
        return context.ops.run(
            sgd_update{.learning_rate = step.learning_rate,
                       .momentum = momentum_,
                       .weight_decay = weight_decay_,
                       .nesterov = nesterov_,
                       .gradient = step.gradient,
                       .weight = step.weight,
                       .velocity = has_velocity ? &step.state[0] : nullptr,
                       .new_weight = step.new_weight,
                       .new_velocity = has_velocity ? &step.new_state[0] : nullptr});
    }

    float momentum_;
    float weight_decay_;
    bool nesterov_;
};

} // namespace

optimizer_ptr make_sgd(proto::Sgd::Reader settings) {
    return std::make_shared<sgd>(settings);
}

} // namespace troupe

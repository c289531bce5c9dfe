#include "kernels/ops/updates.hpp"

#include <array>

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

constexpr std::array<std::string_view, 1> velocity{"momentum_buffer"};
constexpr std::array<std::string_view, 1> sum_of_gradients{"sum"};
constexpr std::array<std::string_view, 2> averages{"square_avg", "acc_delta"};
constexpr std::array<std::string_view, 2> moments{"exp_avg", "exp_avg_sq"};

constexpr std::string_view name_of(const sgd_settings&) {
    return "sgd_update";
}
constexpr std::string_view name_of(const adagrad_settings&) {
    return "adagrad_update";
}
constexpr std::string_view name_of(const rmsprop_settings&) {
    return "rmsprop_update";
}
constexpr std::string_view name_of(const adadelta_settings&) {
    return "adadelta_update";
}
constexpr std::string_view name_of(const adam_settings&) {
    return "adam_update";
}
constexpr std::string_view name_of(const lamb_settings&) {
    return "lamb_direction";
}

} // namespace

std::span<const std::string_view> state_of(const sgd_settings& settings) noexcept {
    return std::span{velocity}.first(settings.momentum != 0 ? 1 : 0);
}
std::span<const std::string_view> state_of(const adagrad_settings&) noexcept {
    return sum_of_gradients;
}
std::span<const std::string_view> state_of(const rmsprop_settings&) noexcept {
    return std::span{averages}.first(1);
}
std::span<const std::string_view> state_of(const adadelta_settings&) noexcept {
    return averages;
}
std::span<const std::string_view> state_of(const adam_settings&) noexcept {
    return moments;
}
std::span<const std::string_view> state_of(const lamb_settings&) noexcept {
    return moments;
}

template <class Settings>
result<void> weight_update<Settings>::check() const {
    const update_operands& o = operands;
    const auto& shape = o.weight.shape();
    const auto names = state_of(settings);
    operand_check check{name_of(settings)};
    check.is("weight", o.weight, shape)
        .is("gradient", o.gradient, shape)
        .is("new_weight", o.new_weight, shape)
        .require(o.step > 0, "steps count from 1")
        .require(o.state.size() == names.size() && o.new_state.size() == names.size(),
                 "keeps " + std::to_string(names.size()) + " tensors beside the weight, not " +
                     std::to_string(o.state.size()) + " and " + std::to_string(o.new_state.size()) +
                     " new ones");
    if (check.ok())
        for (std::size_t i = 0; i < names.size(); ++i)
            check.is(names[i], o.state[i], shape)
                .is("new " + std::string{names[i]}, o.new_state[i], shape);
    return check.outcome();
}

template struct weight_update<sgd_settings>;
template struct weight_update<adagrad_settings>;
template struct weight_update<rmsprop_settings>;
template struct weight_update<adadelta_settings>;
template struct weight_update<adam_settings>;
template struct weight_update<lamb_settings>;

result<void> sum_of_squares::check() const {
    return operand_check{"sum_of_squares"}.is("input", input, input.shape()).outcome();
}

result<void> scale::check() const {
    return operand_check{"scale"}
        .is("input", input, input.shape())
        .is("output", output, input.shape())
        .outcome();
}

result<void> clip::check() const {
    return operand_check{"clip"}
        .is("input", input, input.shape())
        .is("output", output, input.shape())
        .require(limit >= 0, "the limit is negative")
        .outcome();
}

} // namespace troupe

#include "kernels/ops/updates.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

template <class Update>
operand_check weight_check(std::string_view name, const Update& u) {
    operand_check check{name};
    check.is("weight", u.weight, u.weight.shape()).is("gradient", u.gradient, u.weight.shape());
    return check;
}

} // namespace

result<void> sgd_update::check() const {
    const auto& shape = weight.shape();
    auto check = weight_check("sgd_update", *this);
    check.is("new_weight", new_weight, shape)
        .require((momentum != 0) == (velocity != nullptr) &&
                     (momentum != 0) == (new_velocity != nullptr),
                 "there is a velocity where there is momentum");
    if (velocity != nullptr && new_velocity != nullptr)
        check.is("velocity", *velocity, shape).is("new_velocity", *new_velocity, shape);
    return check.outcome();
}

result<void> adagrad_update::check() const {
    const auto& shape = weight.shape();
    return weight_check("adagrad_update", *this)
        .is("squares", squares, shape)
        .is("new_weight", new_weight, shape)
        .is("new_squares", new_squares, shape)
        .outcome();
}

result<void> rmsprop_update::check() const {
    const auto& shape = weight.shape();
    return weight_check("rmsprop_update", *this)
        .is("squares", squares, shape)
        .is("new_weight", new_weight, shape)
        .is("new_squares", new_squares, shape)
        .outcome();
}

result<void> adadelta_update::check() const {
    const auto& shape = weight.shape();
    return weight_check("adadelta_update", *this)
        .is("squares", squares, shape)
        .is("step_squares", step_squares, shape)
        .is("new_weight", new_weight, shape)
        .is("new_squares", new_squares, shape)
        .is("new_step_squares", new_step_squares, shape)
        .outcome();
}

result<void> adam_update::check() const {
    const auto& shape = weight.shape();
    return weight_check("adam_update", *this)
        .require(step > 0, "steps count from 1")
        .is("mean", mean, shape)
        .is("squares", squares, shape)
        .is("new_weight", new_weight, shape)
        .is("new_mean", new_mean, shape)
        .is("new_squares", new_squares, shape)
        .outcome();
}

result<void> lamb_direction::check() const {
    const auto& shape = weight.shape();
    return weight_check("lamb_direction", *this)
        .require(step > 0, "steps count from 1")
        .is("mean", mean, shape)
        .is("squares", squares, shape)
        .is("direction", direction, shape)
        .is("new_mean", new_mean, shape)
        .is("new_squares", new_squares, shape)
        .outcome();
}

result<void> sum_of_squares::check() const {
    return operand_check{"sum_of_squares"}.is("input", input, input.shape()).outcome();
}

result<void> clip::check() const {
    return operand_check{"clip"}
        .is("input", input, input.shape())
        .is("output", output, input.shape())
        .require(limit >= 0, "the limit is negative")
        .outcome();
}

} // namespace troupe

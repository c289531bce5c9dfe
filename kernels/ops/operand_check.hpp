// Says what is wrong with the operands of an operation; for the files beside this one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// Collects the first thing that is wrong with the operands of one operation.
class operand_check {
  public:
    explicit operand_check(std::string_view operation) : operation_{operation} {}

    operand_check& require(bool condition, std::string_view what) {
        if (!condition && !failure_)
            failure_ = error{errc::usage, std::string{operation_} + ": " + std::string{what}};
        return *this;
    }

    operand_check& rank(std::string_view name, const tensor& t, std::size_t rank) {
        if (t.shape().rank() == rank)
            return *this;
        return require(false, std::string{name} + " has shape " + to_string(t.shape()) +
                                  ", expected " + std::to_string(rank) + " dimensions");
    }

    operand_check& is(std::string_view name, const tensor& t, const tensor_shape& shape,
                      data_type type = data_type::float32) {
        if (t && t.shape() == shape && t.type() == type)
            return *this;
        if (!t)
            return require(false, std::string{name} + " is missing");
        return require(false, std::string{name} + " is " + std::string{to_string(t.type())} + " " +
                                  to_string(t.shape()) + ", expected " +
                                  std::string{to_string(type)} + " " + to_string(shape));
    }

    bool ok() const noexcept { return !failure_; }
    result<void> outcome() const { return failure_ ? result<void>{*failure_} : result<void>{}; }
    const error& failure() const { return *failure_; }

  private:
    std::string_view operation_;
    std::optional<error> failure_;
};

template <class Operation>
void check_weight_gradients(operand_check& check, const Operation& o, const tensor* to_weight) {
    if (to_weight != nullptr)
        check.is("weight_gradient", *to_weight, o.weight.shape());
    if (o.bias_gradient != nullptr)
        check.is("bias_gradient", *o.bias_gradient, {o.weight.shape()[0]});
    if (o.input_gradient != nullptr)
        check.is("input_gradient", *o.input_gradient, o.input.shape());
}

} // namespace troupe

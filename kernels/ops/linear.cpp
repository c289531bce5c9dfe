#include "kernels/ops/linear.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

operand_check check_linear(std::string_view operation, const tensor& input, const tensor& weight,
                           const tensor& output) {
    operand_check check{operation};
    check.rank("input", input, 2).rank("weight", weight, 2).rank("output", output, 2);
    if (!check.ok())
        return check;
    check.is("input", input, {input.shape()[0], weight.shape()[1]})
        .is("weight", weight, weight.shape())
        .is("output", output, {input.shape()[0], weight.shape()[0]})
        .require(input.elements() > 0 && weight.elements() > 0, "an operand has no elements");
    return check;
}

} // namespace

result<void> linear_forward::check() const {
    auto check = check_linear("linear_forward", input, weight, output);
    if (check.ok() && bias != nullptr)
        check.is("bias", *bias, {weight.shape()[0]});
    if (check.ok() && pre_activation != nullptr)
        check.is("pre_activation", *pre_activation, output.shape())
            .require(activation && !keeps_output(*activation),
                     "pre_activation without an activation whose backward pass takes it");
    return check.outcome();
}

result<void> linear_backward::check() const {
    auto check = check_linear("linear_backward", input, weight, output_gradient);
    if (check.ok())
        check_weight_gradients(check, *this, weight_gradient);
    return check.outcome();
}

} // namespace troupe

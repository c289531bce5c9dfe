#include "kernels/ops/norms.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

// Input, weight and output of a norm of rows.
template <class Norm>
operand_check check_rows(std::string_view operation, const Norm& o, std::string_view output_name,
                         const tensor& output) {
    operand_check check{operation};
    const auto& shape = o.input.shape();
    check.require(shape.rank() > 0 && shape.elements() > 0, "the input has no elements");
    if (check.ok())
        check.is("input", o.input, shape)
            .is("weight", o.weight, {shape[shape.rank() - 1]})
            .is("inverse_deviation", o.inverse_deviation,
                {shape.elements() / shape[shape.rank() - 1]})
            .is(output_name, output, shape);
    return check;
}

// Checks of what backward writes.
template <class Norm>
void check_gradients(operand_check& check, const Norm& o) {
    check.is("weight_gradient", o.weight_gradient, o.weight.shape());
    if (o.input_gradient != nullptr)
        check.is("input_gradient", *o.input_gradient, o.input.shape());
}

} // namespace

result<void> layer_norm_forward::check() const {
    auto check = check_rows("layer_norm_forward", *this, "output", output);
    return check.is("bias", bias, weight.shape())
        .is("mean", mean, inverse_deviation.shape())
        .outcome();
}

result<void> layer_norm_backward::check() const {
    auto check = check_rows("layer_norm_backward", *this, "output_gradient", output_gradient);
    check_gradients(check, *this);
    return check.is("mean", mean, inverse_deviation.shape())
        .is("bias_gradient", bias_gradient, weight.shape())
        .outcome();
}

result<void> rms_norm_forward::check() const {
    return check_rows("rms_norm_forward", *this, "output", output).outcome();
}

result<void> rms_norm_backward::check() const {
    auto check = check_rows("rms_norm_backward", *this, "output_gradient", output_gradient);
    check_gradients(check, *this);
    return check.outcome();
}

} // namespace troupe

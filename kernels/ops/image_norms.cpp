#include "kernels/ops/image_norms.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

operand_check check_images(std::string_view operation, const tensor& input, std::size_t block) {
    operand_check check{operation};
    const auto& shape = input.shape();
    check.require(shape.rank() >= 2 && shape.elements() > 0,
                  "the input has no channels or no elements");
    if (check.ok())
        check.is("input", input, shape)
            .require(block > 0 && shape[1] % block == 0,
                     "the channel block does not divide the channels");
    return check;
}

// Input, weight and mean.
template <class Norm>
operand_check check_batch_norm(std::string_view operation, const Norm& o) {
    auto check = check_images(operation, o.input, o.settings.block);
    if (check.ok())
        check.is("weight", o.weight, {o.input.shape()[1]}).is("mean", o.mean, {o.input.shape()[1]});
    return check;
}

operand_check check_response(std::string_view operation, const tensor& input,
                             const local_response_norm_settings& settings) {
    return check_images(operation, input, settings.block)
        .require(settings.size > 0, "the size is 0");
}

} // namespace

result<void> batch_norm_forward::check() const {
    auto check = check_batch_norm("batch_norm_forward", *this);
    if (check.ok())
        check.is("bias", bias, weight.shape())
            .is("output", output, input.shape())
            .is("variance", variance, weight.shape())
            .is("inverse_deviation", inverse_deviation, weight.shape())
            .require(input.elements() > weight.elements(),
                     "one value per channel has no deviation; use larger batches");
    return check.outcome();
}

result<void> batch_norm_inference::check() const {
    return check_batch_norm("batch_norm_inference", *this)
        .is("bias", bias, weight.shape())
        .is("variance", variance, weight.shape())
        .is("output", output, input.shape())
        .outcome();
}

result<void> batch_norm_backward::check() const {
    auto check = check_batch_norm("batch_norm_backward", *this);
    check.is("inverse_deviation", inverse_deviation, weight.shape())
        .is("output_gradient", output_gradient, input.shape())
        .is("weight_gradient", weight_gradient, weight.shape())
        .is("bias_gradient", bias_gradient, weight.shape());
    if (input_gradient != nullptr)
        check.is("input_gradient", *input_gradient, input.shape());
    return check.outcome();
}

result<void> local_response_norm_forward::check() const {
    return check_response("local_response_norm_forward", input, settings)
        .is("output", output, input.shape())
        .outcome();
}

result<void> local_response_norm_backward::check() const {
    return check_response("local_response_norm_backward", input, settings)
        .is("output_gradient", output_gradient, input.shape())
        .is("input_gradient", input_gradient, input.shape())
        .outcome();
}

} // namespace troupe

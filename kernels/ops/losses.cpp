#include "kernels/ops/losses.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

result<void> softmax_cross_entropy::check() const {
    operand_check check{"softmax_cross_entropy"};
    check.rank("logits", logits, 2);
    if (!check.ok())
        return check.outcome();
    const std::size_t samples = logits.shape()[0];
    const std::size_t classes = logits.shape()[1];
    check.is("logits", logits, logits.shape()).is("labels", labels, {samples}, data_type::int32);
    if (gradient != nullptr)
        check.is("gradient", *gradient, logits.shape());
    if (!check.ok())
        return check.outcome();
    const auto classified = labels.values<std::int32_t>();
    for (std::size_t s = 0; s < samples; ++s)
        if (classified[s] < 0 || static_cast<std::size_t>(classified[s]) >= classes)
            return error{errc::data, "the label of sample " + std::to_string(s) +
                                         " of the batch is " + std::to_string(classified[s]) +
                                         ", but the model has " + std::to_string(classes) +
                                         " outputs"};
    return {};
}

} // namespace troupe

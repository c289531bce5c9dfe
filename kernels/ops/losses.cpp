#include "kernels/ops/losses.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

// "sample 3" where there is a label per sample, "sample 3, position 5" where there are more.
std::string label_name(const tensor_shape& labels, std::size_t row) {
    std::string rest;
    for (std::size_t axis = labels.rank() - 1; axis > 0; --axis) {
        rest = (axis > 1 ? "," : "") + std::to_string(row % labels[axis]) + rest;
        row /= labels[axis];
    }
    return "sample " + std::to_string(row) + (rest.empty() ? "" : ", position " + rest);
}

} // namespace

error bad_label(const tensor_shape& labels, std::size_t row, std::int32_t label,
                std::size_t classes) {
    return {errc::data, "the label of " + label_name(labels, row) + " of the batch is " +
                            std::to_string(label) + ", but the model has " +
                            std::to_string(classes) + " outputs"};
}

result<void> softmax_cross_entropy::check() const {
    operand_check check{"softmax_cross_entropy"};
    const auto axes = logits.shape().dimensions();
    check.require(axes.size() >= 2 && axes.back() > 0, "logits are (rows..., classes)")
        .require(label_smoothing >= 0 && label_smoothing <= 1, "label_smoothing is outside 0..1");
    if (!check.ok())
        return check.outcome();
    const std::size_t classes = axes.back();
    check.is("logits", logits, logits.shape())
        .is("labels", labels, tensor_shape{axes.first(axes.size() - 1)}, data_type::int32);
    if (gradient != nullptr)
        check.is("gradient", *gradient, logits.shape());
    if (!check.ok())
        return check.outcome();
    if (!labels.is_host()) // their back end looks at them
        return {};
    const auto given = labels.values<std::int32_t>();
    for (std::size_t r = 0; r < given.size(); ++r)
        if (given[r] != ignored_label &&
            (given[r] < 0 || static_cast<std::size_t>(given[r]) >= classes))
            return bad_label(labels.shape(), r, given[r], classes);
    return {};
}

result<void> mean_squared_error::check() const {
    operand_check check{"mean_squared_error"};
    check.require(outputs.shape().rank() > 0 && outputs.elements() > 0, "outputs are empty")
        .is("outputs", outputs, outputs.shape())
        .is("targets", targets, outputs.shape());
    if (gradient != nullptr)
        check.is("gradient", *gradient, outputs.shape());
    return check.outcome();
}

} // namespace troupe

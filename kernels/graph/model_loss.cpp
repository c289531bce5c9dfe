#include "kernels/graph/model_loss.hpp"

#include "kernels/ops/ops.hpp"

namespace troupe {

result<model_loss> model_loss::create(proto::Loss::Reader description,
                                      const tensor_shape& outputs) {
    model_loss loss;
    if (description.isMeanSquaredError()) {
        loss.labels_ = {.type = data_type::float32, .shape = outputs};
        return loss;
    }
    const auto axes = outputs.dimensions();
    if (axes.empty() || axes.size() > 2)
        return error{errc::usage, "the last layer gives " + to_string(outputs) +
                                      ", but cross_entropy needs one value per class, or per "
                                      "position and class; end with linear"};
    loss.label_smoothing_ = description.getCrossEntropy().getLabelSmoothing();
    loss.labels_ = {.type = data_type::int32,
                    .shape = tensor_shape{axes.first(axes.size() - 1)},
                    .values = axes.back(),
                    .ignored = ignored_by(description)};
    return loss;
}

result<loss_result> model_loss::run(compute_context& context, const tensor& outputs,
                                    const tensor& labels, float scale) const {
    loss_result done;
    if (scale != 0) {
        auto gradient = tensor::allocate(context.memory, data_type::float32, outputs.shape());
        if (!gradient)
            return gradient.failure();
        done.gradient = std::move(*gradient);
    }
    tensor* gradient = scale != 0 ? &done.gradient : nullptr;
    if (labels_.type == data_type::float32) {
        auto computed = context.ops.run(mean_squared_error{.outputs = outputs,
                                                           .targets = labels,
                                                           .scale = scale,
                                                           .gradient = gradient,
                                                           .sum = done.loss_sum});
        if (!computed)
            return computed.failure();
        done.counted = outputs.shape()[0];
        return done;
    }
    softmax_cross_entropy_sums sums;
    auto computed = context.ops.run(softmax_cross_entropy{.logits = outputs,
                                                          .labels = labels,
                                                          .scale = scale,
                                                          .gradient = gradient,
                                                          .sums = sums,
                                                          .label_smoothing = label_smoothing_,
                                                          .ignored_label = labels_.ignored});
    if (!computed)
        return computed.failure();
    done.loss_sum = sums.loss;
    done.counted = sums.counted;
    done.correct = sums.correct;
    return done;
}

} // namespace troupe

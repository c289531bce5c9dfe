#include "kernels/layers/layer.hpp"

#include "kernels/layers/kinds.hpp"

namespace troupe {

result<activation> in_block(compute_context& context, activation from, std::size_t block) {
    if (from.block == block)
        return from;
    auto moved = tensor::allocate(context.memory, data_type::float32, from.values.shape());
    if (!moved)
        return moved.failure();
    if (auto done = context.ops.run(change_block{from.values, from.block, *moved, block}); !done)
        return done.failure();
    return activation{std::move(*moved), block};
}

result<tensor> writable(compute_context& context, const tensor& t) {
    if (t.unique())
        return t;
    return tensor::allocate(context.memory, data_type::float32, t.shape());
}

result<layer::gradients> layer::allocate_gradients(compute_context& context,
                                                   const backward_pass& pass) {
    auto made = allocate_input_gradient(context, pass);
    if (!made)
        return made;
    auto parameters = allocate_weight_gradients(context, pass.parameters, pass.as_factors);
    if (!parameters)
        return parameters.failure();
    made->parameters = std::move(*parameters);
    return made;
}

result<layer::gradients> layer::allocate_input_gradient(compute_context& context,
                                                        const backward_pass& pass) {
    gradients made;
    made.inputs.resize(1);
    made.parameters.resize(pass.parameters.size());
    if (!pass.wanted[0])
        return made;
    auto to_input =
        tensor::allocate(context.memory, data_type::float32, pass.saved.tensors[0].shape());
    if (!to_input)
        return to_input.failure();
    made.inputs[0].values = std::move(*to_input);
    return made;
}

result<std::vector<tensor>> layer::allocate_weight_gradients(compute_context& context,
                                                             std::span<const tensor> parameters,
                                                             bool as_factors) {
    std::vector<tensor> made;
    for (const tensor& parameter : parameters) {
        if (as_factors && made.empty()) {
            made.emplace_back();
            continue;
        }
        auto gradient = tensor::allocate(context.memory, data_type::float32, parameter.shape());
        if (!gradient)
            return gradient.failure();
        made.push_back(std::move(*gradient));
    }
    return made;
}

result<std::vector<tensor>> layer::weight_gradients(compute_context&, weight_pass) const {
    TROUPE_CHECK(false, "this layer leaves no rest");
    return std::vector<tensor>{};
}

std::string_view layer_kind(proto::Layer::Reader description) noexcept {
    switch (description.which()) {
    case proto::Layer::CONV2D:
        return "conv2d";
    case proto::Layer::RELU:
        return "relu";
    case proto::Layer::MAX_POOL:
        return "max_pool";
    case proto::Layer::AVERAGE_POOL:
        return "average_pool";
    case proto::Layer::GLOBAL_AVERAGE_POOL:
        return "global_average_pool";
    case proto::Layer::LAYER_NORM:
        return "layer_norm";
    case proto::Layer::RMS_NORM:
        return "rms_norm";
    case proto::Layer::BATCH_NORM:
        return "batch_norm";
    case proto::Layer::LOCAL_RESPONSE_NORM:
        return "local_response_norm";
    case proto::Layer::LINEAR:
        return "linear";
    case proto::Layer::GELU:
        return "gelu";
    case proto::Layer::GELU_TANH:
        return "gelu_tanh";
    case proto::Layer::SILU:
        return "silu";
    case proto::Layer::SIGMOID:
        return "sigmoid";
    case proto::Layer::TANH:
        return "tanh";
    case proto::Layer::RESIDUAL:
        return "residual";
    case proto::Layer::CONCAT:
        return "concat";
    case proto::Layer::REPEAT:
        return "repeat";
    case proto::Layer::RECOMPUTE:
        return "recompute";
    case proto::Layer::FLATTEN:
        return "flatten";
    case proto::Layer::EMBEDDING:
        return "embedding";
    case proto::Layer::POSITION_EMBEDDING:
        return "position_embedding";
    case proto::Layer::ATTENTION:
        return "attention";
    case proto::Layer::DROPOUT:
        return "dropout";
    case proto::Layer::SOFTMAX:
        return "softmax";
    case proto::Layer::GRU:
        return "gru";
    case proto::Layer::LSTM:
        return "lstm";
    case proto::Layer::ENCODER_DECODER:
        return "encoder_decoder";
    case proto::Layer::ATTENTION_GRU:
        return "attention_gru";
    case proto::Layer::TRANSFORMER:
        return "transformer";
    }
    return "unknown";
}

std::optional<pointwise> pointwise_of(proto::Layer::Reader description) noexcept {
    switch (description.which()) {
    case proto::Layer::RELU:
        return pointwise::relu;
    case proto::Layer::GELU:
        return pointwise::gelu;
    case proto::Layer::GELU_TANH:
        return pointwise::gelu_tanh;
    case proto::Layer::SILU:
        return pointwise::silu;
    case proto::Layer::SIGMOID:
        return pointwise::sigmoid;
    case proto::Layer::TANH:
        return pointwise::tanh;
    default:
        return {};
    }
}

result<std::shared_ptr<const layer>> make_layer(proto::Layer::Reader description,
                                                const value_form& input) {
    if (input.type != data_type::float32 && !description.isFlatten() && !description.isEmbedding())
        return error{errc::usage, "needs numbers, but gets tokens; put embedding before it"};
    const tensor_shape& input_shape = input.shape;
    switch (description.which()) {
    case proto::Layer::CONV2D:
        return make_conv2d(description.getConv2d(), input_shape);
    case proto::Layer::MAX_POOL:
        return make_max_pool(description.getMaxPool(), input_shape);
    case proto::Layer::AVERAGE_POOL:
        return make_average_pool(description.getAveragePool(), input_shape);
    case proto::Layer::GLOBAL_AVERAGE_POOL:
        return make_global_average_pool(input_shape);
    case proto::Layer::LAYER_NORM:
        return make_layer_norm(description.getLayerNorm(), input_shape);
    case proto::Layer::RMS_NORM:
        return make_rms_norm(description.getRmsNorm(), input_shape);
    case proto::Layer::BATCH_NORM:
        return make_batch_norm(description.getBatchNorm(), input_shape);
    case proto::Layer::LOCAL_RESPONSE_NORM:
        return make_local_response_norm(description.getLocalResponseNorm(), input_shape);
    case proto::Layer::LINEAR:
        return make_linear(description.getLinear(), input_shape);
    case proto::Layer::RELU:
    case proto::Layer::GELU:
    case proto::Layer::GELU_TANH:
    case proto::Layer::SILU:
    case proto::Layer::SIGMOID:
    case proto::Layer::TANH:
        return make_pointwise(layer_kind(description), *pointwise_of(description), input_shape);
    case proto::Layer::FLATTEN:
        return make_flatten(input);
    case proto::Layer::EMBEDDING:
        return make_embedding(description.getEmbedding(), input);
    case proto::Layer::POSITION_EMBEDDING:
        return make_position_embedding(description.getPositionEmbedding(), input_shape);
    case proto::Layer::ATTENTION:
        return make_attention(description.getAttention(), input_shape);
    case proto::Layer::DROPOUT:
        return make_dropout(description.getDropout(), input_shape);
    case proto::Layer::SOFTMAX:
        return make_softmax(input_shape);
    case proto::Layer::GRU:
        return make_recurrent(recurrent_kind::gru, description.getGru(), input_shape);
    case proto::Layer::LSTM:
        return make_recurrent(recurrent_kind::lstm, description.getLstm(), input_shape);
    case proto::Layer::RESIDUAL:
    case proto::Layer::CONCAT:
    case proto::Layer::REPEAT:
    case proto::Layer::RECOMPUTE:
    case proto::Layer::ENCODER_DECODER:
    case proto::Layer::ATTENTION_GRU:
    case proto::Layer::TRANSFORMER:
        break; // the graph takes them apart, or brings their inputs together
    }
    return error{errc::usage, "is a kind of layer that this build does not know"};
}

} // namespace troupe

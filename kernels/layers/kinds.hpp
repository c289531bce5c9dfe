// Each kind of layer's constructor; make_layer chooses between them.
#pragma once

#include "kernels/layers/layer.hpp"

namespace troupe {

result<std::shared_ptr<const layer>> make_conv2d(proto::Conv2d::Reader description,
                                                 const tensor_shape& input_shape);
// The three layers conv2d, relu and max_pool as one, which keeps the images between them in the cache. The same bits.
result<std::shared_ptr<const layer>> make_conv2d_pool(proto::Conv2d::Reader conv2d,
                                                      proto::MaxPool::Reader pool,
                                                      const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_max_pool(proto::MaxPool::Reader description,
                                                   const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_average_pool(proto::AveragePool::Reader description,
                                                       const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_global_average_pool(const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_layer_norm(proto::LayerNorm::Reader description,
                                                     const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_rms_norm(proto::RmsNorm::Reader description,
                                                   const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_batch_norm(proto::BatchNorm::Reader description,
                                                     const tensor_shape& input_shape);
result<std::shared_ptr<const layer>>
make_local_response_norm(proto::LocalResponseNorm::Reader description,
                         const tensor_shape& input_shape);
// Alone, or with the activation layer behind it as one. The same bits, but for what kernels/cuda/README.md says of GPUs.
result<std::shared_ptr<const layer>> make_linear(proto::Linear::Reader description,
                                                 const tensor_shape& input_shape,
                                                 std::optional<pointwise> activation = {});
// `kind` as it stands in app files; it must outlive the layer.
result<std::shared_ptr<const layer>> make_pointwise(std::string_view kind, pointwise function,
                                                    const tensor_shape& input_shape);

// The sum of two values of one shape; the layer of a residual block.
result<std::shared_ptr<const layer>> make_add(const value_form& body, const value_form& shortcut);
// Several values behind one another along their first dimension (images: channels).
result<std::shared_ptr<const layer>> make_concat(std::span<const value_form> inputs);

result<std::shared_ptr<const layer>> make_embedding(proto::Embedding::Reader description,
                                                    const value_form& input);
result<std::shared_ptr<const layer>>
make_position_embedding(proto::PositionEmbedding::Reader description,
                        const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_attention(proto::Attention::Reader description,
                                                    const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_dropout(proto::Dropout::Reader description,
                                                  const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_softmax(const tensor_shape& input_shape);
enum class recurrent_kind { gru, lstm };
result<std::shared_ptr<const layer>> make_recurrent(recurrent_kind kind,
                                                    proto::Recurrent::Reader description,
                                                    const tensor_shape& input_shape);

result<std::shared_ptr<const layer>> make_flatten(const value_form& input);

// The first `source_length` tokens of a row, and those behind them.
result<std::shared_ptr<const layer>> make_source(const value_form& row, std::size_t source_length);
result<std::shared_ptr<const layer>> make_target(const value_form& row, std::size_t source_length);
// Takes three inputs: what the gru of the decoder takes, what the encoder gives, and the tokens of the source.
result<std::shared_ptr<const layer>> make_attention_gru(proto::AttentionGru::Reader description,
                                                        const value_form& input,
                                                        const value_form& encoded,
                                                        const value_form& source);

// The images that a pool of such windows makes of images of this shape. errc::usage where it cannot.
result<tensor_shape> pooled_images(const max_pool_settings& windows,
                                   const tensor_shape& input_shape);

// The shape that max_pool makes of images of this one. errc::usage where it cannot.
struct pooled_shape {
    max_pool_settings settings; // with block 1
    tensor_shape output;
};
result<pooled_shape> pooled(proto::MaxPool::Reader description, const tensor_shape& input_shape);

} // namespace troupe

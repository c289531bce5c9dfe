// Each kind of layer's constructor; make_layer chooses between them.
#pragma once

#include "kernels/layers/layer.hpp"

namespace troupe {

result<std::shared_ptr<const layer>> make_conv2d(proto::Conv2d::Reader description,
                                                 const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_max_pool(proto::MaxPool::Reader description,
                                                   const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_linear(proto::Linear::Reader description,
                                                 const tensor_shape& input_shape);
result<std::shared_ptr<const layer>> make_relu(const tensor_shape& input_shape);

// A batch's shape: (samples, sample shape...).
tensor_shape batch_of(std::size_t samples, const tensor_shape& sample_shape);

} // namespace troupe

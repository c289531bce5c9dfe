// Goes through a model's layers in order, from its input on, checking each before it is used.
#pragma once

#include <string>

#include "kernels/layers/layer.hpp"

namespace troupe {

// layers[i] of the model, behind what the layers before it give.
struct walked_layer {
    std::size_t index = 0;
    tensor_shape input_shape;
    std::shared_ptr<const layer> made;
};

// All layers of the model. errc::usage with the layer's number, kind and shapes for what cannot be.
result<std::vector<walked_layer>> walk_model(proto::Model::Reader model);

} // namespace troupe

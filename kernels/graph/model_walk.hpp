// Goes through a model's layers in order, from its input on, checking each before it is used.
#pragma once

#include "kernels/layers/layer.hpp"

namespace troupe {

// layers[index] of the model, behind what the layers before it give; with count > 1, several that run as one.
struct walked_layer {
    std::size_t index = 0;
    std::size_t count = 1;
    tensor_shape input_shape;
    std::shared_ptr<const layer> made;
};

// All layers of the model. errc::usage with the layer's number, kind and shapes for what cannot be.
result<std::vector<walked_layer>> walk_model(proto::Model::Reader model);

// The layers of a range of a walked model as they run: those that are faster together, joined.
std::vector<walked_layer> join_layers(proto::Model::Reader model,
                                      std::span<const walked_layer> layers);

} // namespace troupe

// Layers that are faster together, and what a layer's surroundings decide about it.
#pragma once

#include "kernels/graph/model_graph.hpp"
#include "kernels/graph/weights.hpp"

namespace troupe {

struct fused_layers {
    std::shared_ptr<const layer> run;
    std::size_t count = 1;
};

// The first layer of the range with as many of those behind it as run as one with it: conv2d, relu and max_pool; linear and
// an activation. The same bits as one by one, but for what kernels/cuda/README.md says of GPUs.
fused_layers fuse(const model_graph& graph, layer_range range);

// The parameters of a node under their names in the whole model, with what their first values are drawn from.
std::vector<parameter_info> named_parameters(const model_graph& graph, std::size_t node);

} // namespace troupe

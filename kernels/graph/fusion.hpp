// Fusion of layers that are faster together, and the initial values of a layer, which depend on the layers around it.
#pragma once

#include "kernels/graph/model_graph.hpp"
#include "kernels/graph/weights.hpp"

namespace troupe {

struct fused_layers {
    std::shared_ptr<const layer> run;
    std::size_t count = 1;
};

// The first layer of the range, fused with as many of the next ones as possible: conv2d, relu and max_pool; linear and an
// activation. The results have the same bits as those of single layers, with the exceptions for GPUs that
// kernels/cuda/README.md lists.
fused_layers fuse(const model_graph& graph, layer_range range);

// The parameters of a node, with their names in the whole model and the distributions of their initial values.
std::vector<parameter_info> named_parameters(const model_graph& graph, std::size_t node);

} // namespace troupe

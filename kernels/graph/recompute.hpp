// Activation checkpointing: a layer made of layers, which keeps only their input for the backward pass and runs them again.
#pragma once

#include "kernels/layers/layer.hpp"

namespace troupe {

// Parameters and errors as those of build_graph().
result<std::shared_ptr<const layer>> make_recompute(proto::Recompute::Reader description,
                                                    const graph_value& input,
                                                    const std::string& key, std::size_t depth,
                                                    std::size_t& layers_left);

} // namespace troupe

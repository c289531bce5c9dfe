// Activation checkpointing: layers as one, of which only the input is kept for the backward pass.
#pragma once

#include "kernels/layers/layer.hpp"

namespace troupe {

// Of the layers at this key. errc::usage as build_graph.
result<std::shared_ptr<const layer>> make_recompute(proto::Recompute::Reader description,
                                                    const graph_value& input,
                                                    const std::string& key, std::size_t depth,
                                                    std::size_t& layers_left);

} // namespace troupe

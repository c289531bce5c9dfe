// The lists of layers inside a layer: the one place that knows where blocks keep them.
#pragma once

#include <string>
#include <vector>

#include "schemas/app.capnp.h"

namespace troupe {

struct child_layers {
    capnp::List<proto::Layer>::Reader layers;
    // Path below the layer's in the names of parameters: "layers", "branches.0.layers"; empty in a repeat.
    std::string path;
    std::string key; // the same in an app file: "residual.layers", "concat.branches[0].layers"
};

// The lists of a block in the order in which they run: the body of a residual and its shortcut, an encoder and its decoder;
// none for a layer that is no block. If there are more branches than a model may have layers, which is no model, the first
// ones.
std::vector<child_layers> children_of(proto::Layer::Reader layer);

} // namespace troupe

// A model as a graph: its layers, with blocks taken apart, in an order in which each comes after those that it reads from. A
// stage is a contiguous range of them; every value that is made before the border between two stages and read after it
// crosses that border, skip connections too.
#pragma once

#include <string>
#include <vector>

#include "kernels/layers/layer.hpp"

namespace troupe {

struct graph_node {
    std::string path; // "layers.3", "layers.4.layers.0": its parameters' names begin with it
    std::string key;  // the same in an app file: "layers[4].residual.layers[0]"
    std::vector<std::size_t> inputs; // numbers of values
    std::shared_ptr<const layer> run;
    proto::Layer::Reader description; // valid as long as the model's message and the graph live

    std::string name() const { return path + " " + std::string{run->kind()}; } // "layers.3 conv2d"
};

struct model_graph {
    std::vector<graph_node> nodes;
    std::vector<graph_value> values; // [0]: the model's input; [i + 1]: the output of nodes[i]
    // By value: the number of the last node that reads it; nodes.size() for the model's output.
    std::vector<std::size_t> last_readers;
    // Messages of the layers that have no description in the model's message.
    std::vector<std::shared_ptr<const void>> own_descriptions;

    // The values that are made before nodes[before] and read from there on, in order; at the end the model's output.
    std::vector<std::size_t> crossing(std::size_t before) const;
    // Floating-point operations of a node's backward pass for one sample; 0 if its output depends on no parameters.
    double backward_flops(std::size_t node) const;
};

// The number of nodes in the graph of these layers, without making it.
std::size_t count_nodes(capnp::List<proto::Layer>::Reader layers);

// The graph of a whole model. errc::usage, with the layer's place, kind and shapes, for an impossible model.
result<model_graph> build_graph(proto::Model::Reader model);

// The precision of the products in the model's layers.
precision precision_of(proto::Model::Reader model) noexcept;

// The graph of layers by themselves, which read this input. `key`: their place in the app file; `depth`: of the blocks
// around them; `layers_left`: the number of layers that the model may still have, which is reduced by these.
result<model_graph> build_graph(capnp::List<proto::Layer>::Reader layers, const graph_value& input,
                                const std::string& key, std::size_t depth,
                                std::size_t& layers_left);

} // namespace troupe

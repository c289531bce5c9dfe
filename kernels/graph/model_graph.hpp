// A model as a graph: its layers, blocks taken apart, in an order in which each comes after those that it reads from. A
// stage is a contiguous range of them; what crosses the border between two stages is every value that is made before it and
// read after it, skip connections too.
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
    proto::Layer::Reader description; // as long as the model's message and the graph live

    std::string name() const { return path + " " + std::string{run->kind()}; } // "layers.3 conv2d"
};

struct model_graph {
    std::vector<graph_node> nodes;
    std::vector<graph_value> values; // [0]: the model's input; [i + 1]: what nodes[i] gives
    // By value: the number of the last node that reads it, which for the model's output is that of one behind all.
    std::vector<std::size_t> last_readers;
    std::vector<std::shared_ptr<const void>>
        own_descriptions; // of layers that stand in no message of others

    // The values that are there before nodes[before] and read from there on, in order; at the end the model's output.
    std::vector<std::size_t> crossing(std::size_t before) const;
    // Of the backward pass of a node and one sample; none where nothing before it is trained.
    double backward_flops(std::size_t node) const;
};

// How many nodes the graph of these layers has, without making it.
std::size_t count_nodes(capnp::List<proto::Layer>::Reader layers);

// The graph of a whole model. errc::usage with the layer's place, kind and shapes for what cannot be.
result<model_graph> build_graph(proto::Model::Reader model);

// Of the products of its layers.
precision precision_of(proto::Model::Reader model) noexcept;

// That of layers by themselves, behind this input, which stand at this key, so deep in other blocks. `layers_left`: how many
// the model may still have; these are taken off.
result<model_graph> build_graph(capnp::List<proto::Layer>::Reader layers, const graph_value& input,
                                const std::string& key, std::size_t depth,
                                std::size_t& layers_left);

} // namespace troupe

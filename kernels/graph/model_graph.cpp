#include "kernels/graph/model_graph.hpp"

#include <algorithm>

#include "kernels/graph/child_layers.hpp"
#include "kernels/graph/transformer.hpp"

namespace troupe {

namespace {

std::size_t count_nodes(proto::Layer::Reader layer) {
    if (layer.isTransformer())
        return count_parts(layer.getTransformer());
    if (layer.isRecompute())
        return 1; // a node of its own, which has its layers inside
    std::size_t inside = 0;
    for (const child_layers& child : children_of(layer))
        inside += troupe::count_nodes(child.layers);
    if (layer.isRepeat())
        return layer.getRepeat().getTimes() * inside;
    return inside + (layer.isEncoderDecoder()
                         ? 2
                         : 1); // two slices; the layer itself, or the one that joins
}

} // namespace

std::vector<std::size_t> model_graph::crossing(std::size_t before) const {
    std::vector<std::size_t> crossing;
    for (std::size_t v = 0; v <= before; ++v)
        if (last_readers[v] >= before)
            crossing.push_back(v);
    return crossing;
}

double model_graph::backward_flops(std::size_t node) const {
    if (!values[node + 1].trained)
        return 0;
    return nodes[node].run->backward_flops(std::ranges::any_of(
        nodes[node].inputs, [&](std::size_t value) { return values[value].trained; }));
}

std::size_t count_nodes(capnp::List<proto::Layer>::Reader layers) {
    std::size_t nodes = 0;
    for (const auto layer : layers)
        nodes += count_nodes(layer);
    return nodes;
}

precision precision_of(proto::Model::Reader model) noexcept {
    switch (model.getPrecision()) {
    case proto::Precision::BF16:
        return precision::bfloat16;
    case proto::Precision::TF32:
        return precision::tfloat32;
    case proto::Precision::F16:
        return precision::float16;
    case proto::Precision::F32:
        break;
    }
    return precision::float32;
}

} // namespace troupe

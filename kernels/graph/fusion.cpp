#include "kernels/graph/fusion.hpp"

#include <cmath>

#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

// True if the output of `node` is read by the next node and no other.
bool only_feeds_next(const model_graph& graph, std::size_t node) {
    const std::size_t value = node + 1;
    return node + 1 < graph.nodes.size() && graph.nodes[node + 1].inputs == std::vector{value} &&
           graph.last_readers[value] == node + 1;
}

// The standard deviation of initial weights (out, in, ...): it compensates that a relu halves the variance (He), or else
// balances the variances of activations and gradients (Glorot).
double initial_deviation(const parameter_info& weight, bool relu_follows) {
    const double fan_in = static_cast<double>(weight.fan_in);
    const double fan_out =
        static_cast<double>(weight.shape[0]) * fan_in / static_cast<double>(weight.shape[1]);
    return std::sqrt(2.0 / (relu_follows ? fan_in : fan_in + fan_out));
}

} // namespace

fused_layers fuse(const model_graph& graph, layer_range range) {
    const std::size_t n = range.first;
    const auto& nodes = graph.nodes;
    if (range.count >= 3 && nodes[n].description.isConv2d() && nodes[n + 1].description.isRelu() &&
        nodes[n + 2].description.isMaxPool() && only_feeds_next(graph, n) &&
        only_feeds_next(graph, n + 1)) {
        auto made = make_conv2d_pool(nodes[n].description.getConv2d(),
                                     nodes[n + 2].description.getMaxPool(),
                                     graph.values[nodes[n].inputs[0]].info.shape);
        TROUPE_CHECK(made.ok(), "the layers were checked one by one");
        return {std::move(*made), 3};
    }
    if (range.count >= 2 && nodes[n].description.isLinear() && only_feeds_next(graph, n))
        if (const auto activation = pointwise_of(nodes[n + 1].description)) {
            auto made = make_linear(nodes[n].description.getLinear(),
                                    graph.values[nodes[n].inputs[0]].info.shape, activation);
            TROUPE_CHECK(made.ok(), "the layers were checked one by one");
            return {std::move(*made), 2};
        }
    return {nodes[n].run, 1};
}

std::vector<parameter_info> named_parameters(const model_graph& graph, std::size_t node) {
    const graph_node& of = graph.nodes[node];
    const bool relu_follows =
        only_feeds_next(graph, node) && graph.nodes[node + 1].description.isRelu();
    auto parameters = of.run->parameters();
    for (auto& parameter : parameters) {
        if (parameter.fan_in > 0 && parameter.initial_deviation == 0)
            parameter.initial_deviation = initial_deviation(parameter, relu_follows);
        parameter.name = of.path + "." + parameter.name;
    }
    return parameters;
}

} // namespace troupe

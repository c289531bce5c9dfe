// The layers of a model and their costs, for plans and error messages.
#include <algorithm>

#include "kernels/graph/model_graph.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe {

namespace {

// A value crosses every cut between the node that makes it and the last that reads it.
void add_crossing(const model_graph& graph, std::vector<layer_info>& infos) {
    struct bytes {
        std::size_t forward = 0, back = 0;
    };
    std::vector<bytes> made(graph.nodes.size() + 2), given_up(made); // by the node that is next
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        const std::size_t size = bytes_of(graph.values[v].info);
        for (bytes* at : {&made[v], &given_up[std::max(graph.last_readers[v] + 1, v)]}) {
            at->forward += size;
            at->back += graph.values[v].trained ? size : 0;
        }
    }
    bytes now;
    for (std::size_t n = 0; n <= infos.size(); ++n) {
        now.forward += made[n].forward - given_up[n].forward;
        now.back += made[n].back - given_up[n].back;
        if (n > 0) {
            infos[n - 1].crossing_bytes = now.forward;
            infos[n - 1].crossing_gradient_bytes = now.back;
        }
    }
}

} // namespace

result<std::vector<layer_info>> describe_model(proto::Model::Reader model) {
    auto graph = build_graph(model);
    if (!graph)
        return graph.failure();
    std::vector<layer_info> infos;
    for (std::size_t n = 0; n < graph->nodes.size(); ++n) {
        const graph_node& node = graph->nodes[n];
        layer_info info{.name = node.name(),
                        .key = node.key,
                        .output_shape = node.run->output().shape,
                        .forward_flops_per_sample = node.run->forward_flops(),
                        .backward_flops_per_sample = graph->backward_flops(n),
                        .samples_min = node.run->samples_min()};
        for (const auto& parameter : node.run->parameters())
            info.parameter_elements += parameter.shape.elements();
        infos.push_back(std::move(info));
    }
    add_crossing(*graph, infos);
    return infos;
}

std::size_t count_layers(proto::Model::Reader model) {
    return count_nodes(model.getLayers());
}

} // namespace troupe

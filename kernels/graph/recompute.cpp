#include "kernels/graph/recompute.hpp"

#include <algorithm>

#include "kernels/graph/graph_range.hpp"

namespace troupe {

namespace {

// One step of the range around it: a pass does not stop inside, and its backward pass is not cut into halves.
class recompute_layer final : public layer {
  public:
    recompute_layer(const model_graph& graph, const value_form& output)
        : layers_{graph, {0, graph.nodes.size()}}, output_{output} {}

    std::string_view kind() const noexcept override { return "recompute"; }
    value_form output() const noexcept override { return output_; }
    double forward_flops() const noexcept override { return layers_.forward_flops(); }
    double backward_flops(bool) const noexcept override {
        return layers_.forward_flops() + layers_.backward_flops();
    }
    kept_values kept() const noexcept override { return {.inputs = 1}; }
    std::size_t samples_min() const noexcept override {
        std::size_t most = 1;
        for (const auto& step : layers_.steps())
            most = std::max(most, step.run->samples_min());
        return most;
    }
    // Gradients of these parameters are never given as factors.
    std::vector<parameter_info> parameters() const override {
        std::vector<parameter_info> all = layers_.parameters();
        for (parameter_info& parameter : all)
            parameter.factor_rows = 0;
        return all;
    }
    std::vector<average_info> averages() const override { return layers_.averages(); }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        saved.tensors = {pass.inputs[0].values};
        saved.block = pass.inputs[0].block;
        auto done = layers_.forward(context, {pass.part, pass.parameters, pass.averages},
                                    std::move(pass.inputs));
        if (!done)
            return done.failure();
        return std::move(done->outputs[0]);
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        const graph_range::pass inner{pass.part, pass.parameters, {}};
        auto again =
            layers_.forward(context, inner, {{std::move(pass.saved.tensors[0]), pass.saved.block}});
        if (!again)
            return again.failure();
        auto done = layers_.backward(context, inner, std::move(again->saved),
                                     {std::move(pass.output_gradient)});
        if (!done)
            return done.failure();
        gradients made{std::move(done->inputs), std::move(done->weights.parameters),
                       std::move(done->weights.statistics)};
        made.inputs.resize(1);
        return made;
    }

  private:
    graph_range layers_;
    value_form output_;
};

} // namespace

result<std::shared_ptr<const layer>> make_recompute(proto::Recompute::Reader description,
                                                    const graph_value& input,
                                                    const std::string& key, std::size_t depth,
                                                    std::size_t& layers_left) {
    auto graph = build_graph(description.getLayers(), input, key, depth, layers_left);
    if (!graph)
        return graph.failure();
    return std::shared_ptr<const layer>{
        std::make_shared<recompute_layer>(*graph, graph->values.back().info)};
}

} // namespace troupe

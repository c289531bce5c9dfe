#include "kernels/graph/model_graph.hpp"

#include <algorithm>

#include "kernels/graph/model_loss.hpp"
#include "kernels/graph/recompute.hpp"
#include "kernels/graph/value_form.hpp"
#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

using layer_list = capnp::List<proto::Layer>::Reader;

// Whether the product of the dimensions is within the limit, computed without overflow.
bool within_limit(const tensor_shape& shape) noexcept {
    std::uint64_t elements = 1;
    for (std::size_t dimension : shape.dimensions()) {
        if (dimension != 0 && elements > limits::layer_elements_max / dimension)
            return false;
        elements *= dimension;
    }
    return true;
}

error too_large(std::string_view what, const tensor_shape& shape) {
    return {errc::usage, std::string{what} + " " + to_string(shape) + " has more than " +
                             std::to_string(limits::layer_elements_max) + " elements"};
}

// Where a layer stands: for the names of parameters and for the user.
struct place {
    std::string path;
    std::string key;

    place below(const std::string& name, const std::string& in_file) const {
        return {path + "." + name, key + "." + in_file};
    }
    place at(std::size_t index) const {
        const std::string number = std::to_string(index);
        return {path + "." + number, key + "[" + number + "]"};
    }
};

class graph_builder {
  public:
    explicit graph_builder(model_graph& graph) : graph_{graph} {}

    // Appends the layers, each feeding the next; the number of the last one's value.
    result<std::size_t> append_all(layer_list layers, std::size_t input, const place& where,
                                   std::size_t depth) {
        if (depth > limits::layer_depth_max)
            return error{errc::usage, where.key + ": blocks stand in blocks more than " +
                                          std::to_string(limits::layer_depth_max) + " deep"};
        for (unsigned i = 0; i < layers.size(); ++i) {
            auto next = append(layers[i], input, where.at(i), depth);
            if (!next)
                return next;
            input = *next;
        }
        return input;
    }

  private:
    result<std::size_t> append(proto::Layer::Reader description, std::size_t input,
                               const place& where, std::size_t depth) {
        switch (description.which()) {
        case proto::Layer::RESIDUAL:
            return append_residual(description, input, where, depth + 1);
        case proto::Layer::CONCAT:
            return append_concat(description, input, where, depth + 1);
        case proto::Layer::REPEAT:
            return append_repeat(description.getRepeat(), input, where, depth + 1);
        default:
            return append_node(description, {input}, where, depth);
        }
    }

    result<std::size_t> append_residual(proto::Layer::Reader description, std::size_t input,
                                        const place& where, std::size_t depth) {
        const auto block = description.getResidual();
        const place inside = where.below("layers", "residual.layers");
        auto body = append_all(block.getLayers(), input, inside, depth);
        if (!body)
            return body;
        auto around = append_all(block.getShortcut(), input,
                                 where.below("shortcut", "residual.shortcut"), depth);
        if (!around)
            return around;
        return append_node(description, {*body, *around}, where, depth);
    }

    result<std::size_t> append_concat(proto::Layer::Reader description, std::size_t input,
                                      const place& where, std::size_t depth) {
        const auto branches = description.getConcat().getBranches();
        std::vector<std::size_t> ends;
        for (unsigned b = 0; b < branches.size(); ++b) {
            const place inside =
                where.below("branches", "concat.branches").at(b).below("layers", "layers");
            auto end = append_all(branches[b].getLayers(), input, inside, depth);
            if (!end)
                return end;
            ends.push_back(*end);
        }
        return append_node(description, std::move(ends), where, depth);
    }

    result<std::size_t> append_repeat(proto::Repeat::Reader block, std::size_t input,
                                      const place& where, std::size_t depth) {
        if (block.getLayers().size() == 0)
            return error{errc::usage, where.key + ".repeat: has no layers"};
        for (std::uint32_t time = 0; time < block.getTimes(); ++time) {
            place inside = where.at(time);
            inside.key = where.key + ".repeat.layers";
            auto end = append_all(block.getLayers(), input, inside, depth);
            if (!end)
                return end;
            input = *end;
        }
        return input;
    }

    result<std::size_t> append_node(proto::Layer::Reader description,
                                    std::vector<std::size_t> inputs, const place& where,
                                    std::size_t depth) {
        const auto in_place = [&](const error& e) {
            return e.in(where.key + " " + std::string{layer_kind(description)});
        };
        if (graph_.nodes.size() == limits::layers_max)
            return in_place({errc::usage, "is one layer more than the " +
                                              std::to_string(limits::layers_max) +
                                              " that a model may have"});
        std::vector<graph_value> values;
        for (const std::size_t input : inputs)
            values.push_back(graph_.values[input]);
        auto made = make_node(description, values, depth);
        if (!made)
            return in_place(made.failure());
        const layer& run = **made;
        if (!within_limit(run.output().shape))
            return in_place(too_large("output", run.output().shape));
        const auto parameters = run.parameters();
        for (const auto& parameter : parameters)
            if (!within_limit(parameter.shape))
                return in_place(too_large(parameter.name, parameter.shape));
        const bool trained =
            !parameters.empty() || std::ranges::any_of(values, &graph_value::trained);
        graph_.values.push_back({run.output(), trained});
        graph_.nodes.push_back(
            {where.path, where.key, std::move(inputs), std::move(*made), description});
        return graph_.nodes.size();
    }

    static result<std::shared_ptr<const layer>> make_node(proto::Layer::Reader description,
                                                          const std::vector<graph_value>& inputs,
                                                          std::size_t depth) {
        switch (description.which()) {
        case proto::Layer::RESIDUAL:
            return make_add(inputs[0].info, inputs[1].info);
        case proto::Layer::CONCAT: {
            std::vector<value_form> infos;
            for (const graph_value& input : inputs)
                infos.push_back(input.info);
            return make_concat(infos);
        }
        case proto::Layer::RECOMPUTE:
            return make_recompute(description.getRecompute(), inputs[0], depth + 1);
        default:
            return make_layer(description, inputs[0].info);
        }
    }

    model_graph& graph_;
};

result<model_graph> graph_behind(layer_list layers, const graph_value& input,
                                 const std::string& where, std::size_t depth) {
    if (layers.size() == 0 || layers.size() > limits::layers_max)
        return error{errc::usage, where + "layers: needs 1 to " +
                                      std::to_string(limits::layers_max) + " layers, has " +
                                      std::to_string(layers.size())};
    model_graph graph;
    graph.values.push_back(input);
    auto end = graph_builder{graph}.append_all(layers, 0, {"layers", "layers"}, depth);
    if (!end)
        return end.failure();
    if (graph.nodes.empty())
        return error{errc::usage, where + "layers: hold no layer that computes"};
    TROUPE_CHECK(*end == graph.nodes.size(), "the last layer gives the model's output");
    return graph;
}

} // namespace

std::vector<std::size_t> model_graph::crossing(std::size_t before) const {
    std::vector<bool> read(values.size());
    read.back() = true;
    for (std::size_t n = before; n < nodes.size(); ++n)
        for (const std::size_t input : nodes[n].inputs)
            read[input] = true;
    std::vector<std::size_t> crossing;
    for (std::size_t v = 0; v <= before; ++v)
        if (read[v])
            crossing.push_back(v);
    return crossing;
}

result<model_graph> build_graph(layer_list layers, const graph_value& input, std::size_t depth) {
    return graph_behind(layers, input, "", depth);
}

result<model_graph> build_graph(proto::Model::Reader model) {
    auto input = input_form(model);
    if (!input)
        return input.failure();
    if (!within_limit(input->shape))
        return too_large("model.input:", input->shape);
    auto graph = graph_behind(model.getLayers(), {*input, false}, "model.", 0);
    if (!graph)
        return graph;
    const auto& end = graph->nodes.back();
    if (auto fits = model_loss::create(model.getLoss(), graph->values.back().info.shape); !fits)
        return fits.failure().in(end.key + " " + std::string{end.run->kind()});
    if (!graph->values.back().trained)
        return error{errc::usage, "model.layers: hold no parameters, so there is nothing to train"};
    return graph;
}

} // namespace troupe

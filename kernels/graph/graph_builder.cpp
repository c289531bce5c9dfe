// Takes blocks apart into the layers of a graph.
#include "kernels/graph/model_graph.hpp"

#include <algorithm>

#include "kernels/graph/child_layers.hpp"
#include "kernels/graph/model_loss.hpp"
#include "kernels/graph/recompute.hpp"
#include "kernels/graph/transformer.hpp"
#include "kernels/graph/value_form.hpp"
#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

using layer_list = capnp::List<proto::Layer>::Reader;

// True if the product of the dimensions is within the limit; computed without overflow.
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

// The place of a layer: for the names of parameters and for the user.
struct place {
    std::string path;
    std::string key;

    place below(const std::string& name, const std::string& in_file) const {
        return {path + "." + name, key + "." + in_file};
    }
    place of(const child_layers& child) const { return below(child.path, child.key); }
    place at(std::size_t index) const {
        const std::string number = std::to_string(index);
        return {path + "." + number, key + "[" + number + "]"};
    }
};

// The values that the attention of a decoder reads, by number.
struct encoder_values {
    std::size_t output;
    std::size_t tokens;
};

// The blocks around layers.
struct surroundings {
    std::size_t depth = 0;                   // number of blocks
    const encoder_values* encoder = nullptr; // for layers in a decoder

    surroundings inside() const { return {depth + 1, encoder}; }
};

class graph_builder {
  public:
    graph_builder(model_graph& graph, std::size_t& layers_left)
        : graph_{graph}, layers_left_{layers_left} {}

    // Appends the layers, each feeding the next; returns the number of the last one's value.
    result<std::size_t> append_all(layer_list layers, std::size_t input, const place& where,
                                   const surroundings& around) {
        if (around.depth > limits::layer_depth_max)
            return error{errc::usage, where.key + ": blocks stand in blocks more than " +
                                          std::to_string(limits::layer_depth_max) + " deep"};
        for (unsigned i = 0; i < layers.size(); ++i) {
            auto next = append(layers[i], input, where.at(i), around);
            if (!next)
                return next;
            input = *next;
        }
        return input;
    }

  private:
    using made_layer = result<std::shared_ptr<const layer>>;

    result<std::size_t> append(proto::Layer::Reader description, std::size_t input,
                               const place& where, const surroundings& around) {
        const graph_value& value = graph_.values[input];
        switch (description.which()) {
        case proto::Layer::RESIDUAL:
            return append_residual(description, input, where, around.inside());
        case proto::Layer::CONCAT:
            return append_concat(description, input, where, around.inside());
        case proto::Layer::REPEAT:
            return append_repeat(description, input, where, around.inside());
        case proto::Layer::ENCODER_DECODER:
            return append_encoder_decoder(description, input, where, around.inside());
        case proto::Layer::ATTENTION_GRU:
            return append_attention_gru(description, input, where, around);
        case proto::Layer::TRANSFORMER:
            return append_transformer(description.getTransformer(), input, where);
        case proto::Layer::RECOMPUTE:
            return append_node(description, {input}, where,
                               make_recompute(description.getRecompute(), value,
                                              where.of(children_of(description)[0]).key,
                                              around.depth + 1, layers_left_));
        default:
            return append_node(description, {input}, where, make_layer(description, value.info));
        }
    }

    result<std::size_t> append_residual(proto::Layer::Reader description, std::size_t input,
                                        const place& where, const surroundings& around) {
        const auto parts = children_of(description);
        auto body = append_all(parts[0].layers, input, where.of(parts[0]), around);
        if (!body)
            return body;
        auto shortcut = append_all(parts[1].layers, input, where.of(parts[1]), around);
        if (!shortcut)
            return shortcut;
        return append_node(description, {*body, *shortcut}, where,
                           make_add(form(*body), form(*shortcut)));
    }

    result<std::size_t> append_concat(proto::Layer::Reader description, std::size_t input,
                                      const place& where, const surroundings& around) {
        if (description.getConcat().getBranches().size() > limits::layers_max)
            return error{errc::usage, where.key + " concat: has more than " +
                                          std::to_string(limits::layers_max) + " branches"};
        std::vector<std::size_t> ends;
        std::vector<value_form> forms;
        for (const child_layers& branch : children_of(description)) {
            auto end = append_all(branch.layers, input, where.of(branch), around);
            if (!end)
                return end;
            ends.push_back(*end);
            forms.push_back(form(*end));
        }
        return append_node(description, std::move(ends), where, make_concat(forms));
    }

    result<std::size_t> append_repeat(proto::Layer::Reader description, std::size_t input,
                                      const place& where, const surroundings& around) {
        const auto block = description.getRepeat();
        if (block.getLayers().size() == 0)
            return error{errc::usage, where.key + ".repeat: has no layers"};
        if (block.getTimes() == 0 || block.getTimes() > limits::layers_max)
            return error{errc::usage, where.key + ".repeat: times is " +
                                          std::to_string(block.getTimes()) + ", must be 1 to " +
                                          std::to_string(limits::layers_max)};
        const child_layers repeated = children_of(description)[0];
        for (std::uint32_t time = 0; time < block.getTimes(); ++time) {
            place inside = where.of(repeated);
            inside.path = where.at(time).path;
            auto end = append_all(repeated.layers, input, inside, around);
            if (!end)
                return end;
            input = *end;
        }
        return input;
    }

    // Appends two slices of the row of tokens, each followed by its layers.
    result<std::size_t> append_encoder_decoder(proto::Layer::Reader description, std::size_t row,
                                               const place& where, const surroundings& around) {
        const auto halves = children_of(description);
        const std::size_t length = description.getEncoderDecoder().getSourceLength();
        auto source = append_node(description, {row}, {where.path + ".source", where.key},
                                  make_source(form(row), length));
        if (!source)
            return source;
        auto encoded = append_all(halves[0].layers, *source, where.of(halves[0]), around);
        if (!encoded)
            return encoded;
        auto target = append_node(description, {row}, {where.path + ".target", where.key},
                                  make_target(form(row), length));
        if (!target)
            return target;
        const encoder_values encoder{*encoded, *source};
        const place decoder = where.of(halves[1]);
        auto end = append_all(halves[1].layers, *target, decoder, {around.depth, &encoder});
        const auto reads = [&](const graph_node& node) {
            return std::ranges::count(node.inputs, *encoded) > 0;
        };
        if (end && std::none_of(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(*target),
                                graph_.nodes.end(), reads))
            return error{errc::usage,
                         decoder.key + ": reads nothing of the encoder; it needs attention_gru"};
        return end;
    }

    result<std::size_t> append_attention_gru(proto::Layer::Reader description, std::size_t input,
                                             const place& where, const surroundings& around) {
        if (around.encoder == nullptr)
            return error{errc::usage, where.key + " attention_gru: has no encoder to read; it " +
                                          "stands in the decoder of an encoder_decoder, there in " +
                                          "no recompute"};
        const auto [encoded, tokens] = *around.encoder;
        return append_node(description, {input, encoded, tokens}, where,
                           make_attention_gru(description.getAttentionGru(), form(input),
                                              form(encoded), form(tokens)));
    }

    result<std::size_t> append_transformer(proto::Transformer::Reader block, std::size_t input,
                                           const place& where) {
        const auto axes = form(input).shape.dimensions();
        const transformer_parts parts = take_apart(block, axes.empty() ? 1 : axes.back());
        graph_.own_descriptions.push_back(parts.message);
        for (const auto& half : parts.halves) {
            std::size_t end = input;
            for (const auto& [part, description] : half) {
                const std::string name{part};
                const place inside = where.below(name, "transformer." + name);
                auto made = description.isResidual()
                                ? append_node(description, {end, input}, inside,
                                              make_add(form(end), form(input)))
                                : append_node(description, {end}, inside,
                                              make_layer(description, form(end)));
                if (!made)
                    return made;
                end = *made;
            }
            input = end;
        }
        return input;
    }

    result<std::size_t> append_node(proto::Layer::Reader description,
                                    std::vector<std::size_t> inputs, const place& where,
                                    made_layer made) {
        const auto in_place = [&](const error& e) {
            return e.in(where.key + " " + std::string{layer_kind(description)});
        };
        if (!made)
            return description.isRecompute() ? made.failure() : in_place(made.failure());
        if (layers_left_ == 0)
            return in_place({errc::usage, "is one layer more than the " +
                                              std::to_string(limits::layers_max) +
                                              " that a model may have"});
        --layers_left_;
        const layer& run = **made;
        if (!within_limit(run.output().shape))
            return in_place(too_large("output", run.output().shape));
        const auto parameters = run.parameters();
        for (const auto& parameter : parameters)
            if (!within_limit(parameter.shape))
                return in_place(too_large(parameter.name, parameter.shape));
        const bool trained =
            !parameters.empty() || std::ranges::any_of(inputs, [&](std::size_t input) {
                return graph_.values[input].trained;
            });
        graph_.values.push_back({run.output(), trained});
        graph_.nodes.push_back(
            {where.path, where.key, std::move(inputs), std::move(*made), description});
        return graph_.nodes.size();
    }

    const value_form& form(std::size_t value) const { return graph_.values[value].info; }

    model_graph& graph_;
    std::size_t& layers_left_; // of the model, including layers that are recomputed
};

// `where` precedes the key in messages about all layers.
result<model_graph> graph_behind(layer_list layers, const graph_value& input,
                                 const std::string& where, const std::string& key,
                                 std::size_t depth, std::size_t& layers_left) {
    if (layers.size() == 0 || layers.size() > limits::layers_max)
        return error{errc::usage, where + key + ": needs 1 to " +
                                      std::to_string(limits::layers_max) + " layers, has " +
                                      std::to_string(layers.size())};
    model_graph graph;
    graph.values.push_back(input);
    auto end =
        graph_builder{graph, layers_left}.append_all(layers, 0, {"layers", key}, {depth, nullptr});
    if (!end)
        return end.failure();
    if (graph.nodes.empty())
        return error{errc::usage, where + key + ": hold no layer that computes"};
    TROUPE_CHECK(*end == graph.nodes.size(), "the last layer gives the model's output");
    TROUPE_CHECK(*end == count_nodes(layers), "layers are counted as they are taken apart");
    graph.last_readers.resize(graph.values.size());
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
        for (const std::size_t input : graph.nodes[n].inputs)
            graph.last_readers[input] = n;
    graph.last_readers.back() = graph.nodes.size();
    return graph;
}

} // namespace

result<model_graph> build_graph(layer_list layers, const graph_value& input, const std::string& key,
                                std::size_t depth, std::size_t& layers_left) {
    return graph_behind(layers, input, "", key, depth, layers_left);
}

result<model_graph> build_graph(proto::Model::Reader model) {
    auto input = input_form(model);
    if (!input)
        return input.failure();
    if (!within_limit(input->shape))
        return too_large("model.input:", input->shape);
    std::size_t layers_left = limits::layers_max;
    auto graph =
        graph_behind(model.getLayers(), {*input, false}, "model.", "layers", 0, layers_left);
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

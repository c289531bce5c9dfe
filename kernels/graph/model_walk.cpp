#include "kernels/graph/model_walk.hpp"

#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

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

result<tensor_shape> input_shape_of(proto::Model::Reader model) {
    const auto input = model.getInput();
    if (input.size() == 0 || input.size() >= limits::tensor_rank_max)
        return error{errc::usage, "model.input: needs 1 to " +
                                      std::to_string(limits::tensor_rank_max - 1) +
                                      " dimensions, has " + std::to_string(input.size())};
    std::vector<std::size_t> dimensions;
    for (std::uint32_t dimension : input)
        dimensions.push_back(dimension);
    for (std::size_t dimension : dimensions)
        if (dimension == 0)
            return error{errc::usage, "model.input: no dimension may be 0"};
    const tensor_shape shape{std::span{dimensions}};
    if (!within_limit(shape))
        return too_large("model.input:", shape);
    return shape;
}

result<std::shared_ptr<const layer>> checked_layer(proto::Layer::Reader description,
                                                   const tensor_shape& input) {
    auto made = make_layer(description, input);
    if (!made)
        return made;
    if (!within_limit((*made)->output_shape()))
        return too_large("output", (*made)->output_shape());
    for (const auto& parameter : (*made)->parameters())
        if (!within_limit(parameter.shape))
            return too_large(parameter.name, parameter.shape);
    return made;
}

} // namespace

result<std::vector<walked_layer>> walk_model(proto::Model::Reader model) {
    auto shape = input_shape_of(model);
    if (!shape)
        return shape.failure();
    const auto layers = model.getLayers();
    if (layers.size() == 0 || layers.size() > limits::layers_max)
        return error{errc::usage, "model.layers: needs 1 to " + std::to_string(limits::layers_max) +
                                      " layers, has " + std::to_string(layers.size())};
    std::vector<walked_layer> walked;
    walked.reserve(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const auto description = layers[static_cast<unsigned>(i)];
        auto made = checked_layer(description, *shape);
        if (!made)
            return made.failure().in("layers[" + std::to_string(i) + "] " +
                                     std::string{layer_kind(description)});
        walked.push_back({i, 1, *shape, *made});
        *shape = (*made)->output_shape();
    }
    if (shape->rank() != 1)
        return error{errc::usage,
                     "layers[" + std::to_string(layers.size() - 1) + "] " +
                         std::string{walked.back().made->kind()} + ": the last layer gives " +
                         to_string(*shape) +
                         ", but cross_entropy needs one value per class; end with linear"};
    return walked;
}

std::vector<walked_layer> join_layers(proto::Model::Reader model,
                                      std::span<const walked_layer> layers) {
    const auto descriptions = model.getLayers();
    std::vector<walked_layer> joined;
    for (std::size_t i = 0; i < layers.size(); i += joined.back().count) {
        joined.push_back(layers[i]);
        if (i + 2 >= layers.size())
            continue;
        const auto index = static_cast<unsigned>(layers[i].index);
        const auto first = descriptions[index];
        const auto last = descriptions[index + 2];
        if (first.isConv2d() && descriptions[index + 1].isRelu() && last.isMaxPool()) {
            auto made =
                make_conv2d_pool(first.getConv2d(), last.getMaxPool(), layers[i].input_shape);
            TROUPE_CHECK(made.ok(), "the layers were checked one by one");
            joined.back().count = 3;
            joined.back().made = *made;
        }
    }
    return joined;
}

} // namespace troupe

#include "kernels/graph/value_form.hpp"

#include <algorithm>
#include <vector>

#include "kernels/graph/child_layers.hpp"

namespace troupe {

namespace {

// The vocabulary of the embedding that these layers begin with, in all branches if they begin with branches; 0: none.
std::size_t first_vocabulary(capnp::List<proto::Layer>::Reader layers) {
    if (layers.size() == 0)
        return 0;
    if (layers[0].isEmbedding())
        return layers[0].getEmbedding().getVocabulary();
    const auto children = children_of(layers[0]);
    return children.empty() ? 0 : first_vocabulary(children[0].layers);
}

} // namespace

result<value_form> input_form(proto::Model::Reader model) {
    const auto input = model.getInput();
    if (input.size() == 0 || input.size() >= limits::tensor_rank_max)
        return error{errc::usage, "model.input: needs 1 to " +
                                      std::to_string(limits::tensor_rank_max - 1) +
                                      " dimensions, has " + std::to_string(input.size())};
    std::vector<std::size_t> dimensions;
    for (const std::uint32_t dimension : input) {
        if (dimension == 0)
            return error{errc::usage, "model.input: no dimension may be 0"};
        dimensions.push_back(dimension);
    }
    const tensor_shape shape{std::span<const std::size_t>{dimensions}};
    const std::size_t vocabulary = first_vocabulary(model.getLayers());
    return vocabulary == 0 ? numbers(shape) : value_form{data_type::int32, shape, vocabulary};
}

std::int32_t ignored_by(proto::Loss::Reader loss) {
    if (!loss.isCrossEntropy() || !loss.getCrossEntropy().getIgnoredLabel().isLabel())
        return ignored_label;
    return static_cast<std::int32_t>(loss.getCrossEntropy().getIgnoredLabel().getLabel());
}

std::uint64_t count_labels(const tensor& labels, std::int32_t ignored) {
    if (labels.type() != data_type::int32)
        return labels.shape()[0];
    const auto values = labels.values<std::int32_t>();
    return values.size() - static_cast<std::size_t>(std::ranges::count(values, ignored));
}

} // namespace troupe

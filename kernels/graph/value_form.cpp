#include "kernels/graph/value_form.hpp"

#include <vector>

namespace troupe {

value_form input_form(proto::Model::Reader model) {
    std::vector<std::size_t> dimensions;
    for (const std::uint32_t d : model.getInput())
        dimensions.push_back(d);
    return {data_type::float32, tensor_shape{dimensions}, 0};
}

// Cross entropy: the outputs' last dimension is over the classes, and there is one label for each of the others.
value_form label_form(proto::Loss, const tensor_shape& output) {
    const auto dimensions = output.dimensions();
    return {data_type::int32, tensor_shape{dimensions.first(dimensions.size() - 1)},
            dimensions.back()};
}

} // namespace troupe

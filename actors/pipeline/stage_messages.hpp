// Checks and names that the parts of the stage actor share. Private to actors/pipeline.
#pragma once

#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "transport/frame/frame.hpp"

namespace troupe {

inline std::string name_of(std::uint64_t minibatch, std::uint32_t microbatch) {
    return "minibatch " + std::to_string(minibatch) + " microbatch " + std::to_string(microbatch);
}

// What is wrong with the only tensor of a message, or nothing.
inline result<void> check_tensor(const frame& f, data_type type, const tensor_shape& shape) {
    if (f.tensors().size() != 1)
        return error{errc::protocol,
                     "carries " + std::to_string(f.tensors().size()) + " tensors instead of one"};
    const tensor& t = f.tensors()[0];
    if (t.type() != type || t.shape() != shape)
        return error{errc::protocol, "carries " + std::string{to_string(t.type())} +
                                         to_string(t.shape()) + " instead of " +
                                         std::string{to_string(type)} + to_string(shape)};
    return {};
}

inline tensor_shape batch_of(std::uint32_t samples, const tensor_shape& sample) {
    std::vector<std::size_t> dimensions{samples};
    dimensions.insert(dimensions.end(), sample.dimensions().begin(), sample.dimensions().end());
    return tensor_shape{dimensions};
}

} // namespace troupe

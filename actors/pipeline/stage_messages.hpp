// Checks and names that the parts of the stage actor share, and what it sends as the data source does.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/layers/layer_values.hpp"
#include "schemas/base/error.hpp"
#include "transport/frame/frame.hpp"

namespace troupe {

inline std::string name_of(std::uint64_t minibatch, std::uint32_t microbatch) {
    return "minibatch " + std::to_string(minibatch) + " microbatch " + std::to_string(microbatch);
}

// A message about one microbatch: Labels, Activation, Gradient.
template <class Body>
frame_builder<Body> microbatch_message(std::uint64_t minibatch, std::uint32_t microbatch) {
    frame_builder<Body> message;
    message.body().setMinibatch(minibatch);
    message.body().setMicrobatch(microbatch);
    message.envelope().setMinibatch(minibatch);
    return message;
}

// What is wrong with the tensors of a message as so many samples of these values, or nothing.
inline result<void> check_tensors(const frame& f, std::size_t samples,
                                  std::span<const value_form> values) {
    if (f.tensors().size() != values.size())
        return error{errc::protocol, "carries " + std::to_string(f.tensors().size()) +
                                         " tensors instead of " + std::to_string(values.size())};
    for (std::size_t i = 0; i < values.size(); ++i) {
        const tensor& t = f.tensors()[i];
        const tensor_shape shape = batch_of(samples, values[i].shape);
        if (t.type() != values[i].type || t.shape() != shape)
            return error{errc::protocol, "carries " + std::string{to_string(t.type())} +
                                             to_string(t.shape()) + " instead of " +
                                             std::string{to_string(values[i].type)} +
                                             to_string(shape)};
    }
    return {};
}

// What crosses a stage's border forwards, and what comes back for it.
inline std::vector<value_form> values_of(std::span<const graph_value> crossing) {
    std::vector<value_form> values;
    for (const graph_value& value : crossing)
        values.push_back(value.info);
    return values;
}
inline std::vector<value_form> gradients_of(std::span<const graph_value> crossing) {
    std::vector<value_form> values;
    for (const graph_value& value : crossing)
        if (value.trained)
            values.push_back(value.info);
    return values;
}

inline std::vector<tensor> tensors_of(const frame& f) {
    return {f.tensors().begin(), f.tensors().end()};
}

} // namespace troupe

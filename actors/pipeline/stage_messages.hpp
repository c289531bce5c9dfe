// Checks and names that the parts of the stage actor share, and what it sends as the data source does.
#pragma once

#include <string>

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

} // namespace troupe

// Names that the parts of the stage actor share, and what it sends as the data source does.
#pragma once

#include <string>
#include <vector>

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

inline std::vector<tensor> tensors_of(const frame& f) {
    return {f.tensors().begin(), f.tensors().end()};
}

} // namespace troupe

// Functions that the parts of the stage actor share: names and messages of microbatches, the loss of an output, and the
// error for a loss that is not finite.
#pragma once

#include <string>
#include <vector>

#include "kernels/graph/stage_program.hpp"
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
    message.envelope().setWork(minibatch);
    return message;
}

inline std::vector<tensor> tensors_of(const frame& f) {
    return {f.tensors().begin(), f.tensors().end()};
}

// Last stage: the loss of its output; labels are copied to the device's memory first, if they are not there.
result<loss_result> loss_of(compute_context& context, const stage_program& program,
                            const tensor& output, const tensor& labels, float scale);

// Last stage: the error that `loss`, "the loss of minibatch 3", is not finite; names the first layer whose outputs are not.
error not_finite(compute_context& context, const stage_program& program, const weights& w,
                 const batch_part& part, const std::vector<tensor>& inputs,
                 const std::string& loss);

} // namespace troupe

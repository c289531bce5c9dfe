// Description of a stage's memory use, for the error message of a device that has run out of memory.
#pragma once

#include <string>

#include "actors/pipeline/stage/stage_port.hpp"

namespace troupe {

// Activations that forward passes have kept for their backward passes.
struct kept_activations {
    std::size_t microbatches = 0;
    std::uint64_t bytes = 0;

    // `of_half`: bytes that a backward pass keeps between its halves.
    void add(const saved_activations& saved, const tensor& loss_gradient, std::uint64_t of_half);
};

// "; this stage holds weights in 3 versions (1.2 MB), ...", the largest item first. Weights that are
// being updated are counted by their layout.
std::string describe_holdings(const stage_state& state, const kept_activations& kept,
                              const weights_layout& layout);

} // namespace troupe

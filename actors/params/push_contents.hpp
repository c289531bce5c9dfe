// What a worker of a parameter server pushes: device work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/codec/codec.hpp"

namespace troupe {

// The sum of what several offer, in their order, as payloads of the encoder, or as it is without one. Of one without an
// encoder: its own tensors.
result<std::vector<tensor>> push_contents(compute_context& context,
                                          std::span<const std::vector<tensor>> offered,
                                          gradient_encoder* encoder, std::uint32_t epoch);

} // namespace troupe

// Contents of a worker's push to a parameter server: device work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/codec/codec.hpp"

namespace troupe {

// Sum of the gradients in `offered`, added in that order and encoded as payloads if there is an encoder. A single offer
// without an encoder is returned as it is.
result<std::vector<tensor>> push_contents(compute_context& context,
                                          std::span<const std::vector<tensor>> offered,
                                          gradient_encoder* encoder, std::uint32_t epoch);

} // namespace troupe

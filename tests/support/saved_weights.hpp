// Compares what a run saved with what the sequential program computed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "kernels/graph/weights.hpp"
#include "schemas/app.capnp.h"

namespace troupe::test {

// The weights that a run saved equal the sequential program's, bit for bit.
void check_weights(const std::filesystem::path& folder, std::span<const weights_ptr> expected,
                   const std::vector<std::size_t>& layers, proto::Model::Reader model);

} // namespace troupe::test

// The fast back end for CPUs: oneDNN for convolutions and matrix products, own loops for the rest. One thread.
//
// Images whose channels are a multiple of the vector width are kept in blocks of that many channels. Compiled
// convolutions are kept by shape; the first use of a shape takes some milliseconds.
#pragma once

#include <memory>

#include "kernels/ops/ops.hpp"

namespace troupe {

// Scratch memory comes from `pool`, which must outlive the operations.
std::unique_ptr<operations> make_cpu_operations(memory_pool& pool);

} // namespace troupe

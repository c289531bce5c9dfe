// Measures the time of every layer of a model on a device, to partition the model into stages of
// equal time.
//
// Threads: runs on the thread of the context; blocks it for the time measured.
#pragma once

#include <atomic>
#include <vector>

#include "kernels/graph/stage_program.hpp"

namespace troupe {

struct profile_options {
    std::size_t batch = 64;
    std::size_t repetitions = 3; // after the first, which compiles; the fastest counts
    const std::atomic<bool>* given_up = nullptr; // read between two layers; true: errc::cancelled
};

struct layer_time {
    std::string name; // "layers.3 conv2d"
    duration forward{};
    duration backward{}; // with the input gradient, except for the model's first layer
};

// Runs forward and backward passes of the whole model with synthetic inputs. The time of fused layers is divided among them
// by their floating-point operations. Errors: as stage_program's.
result<std::vector<layer_time>> profile_layers(compute_context& context, proto::Model::Reader model,
                                               const profile_options& options,
                                               const time_source& time);

} // namespace troupe

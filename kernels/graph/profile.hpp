// Measures what every layer of a model costs on a device, to cut the model into stages of equal
// time.
//
// Threads: runs on the thread of the context; blocks it for the time measured.
#pragma once

#include <vector>

#include "kernels/graph/stage_program.hpp"

namespace troupe {

struct profile_options {
    std::size_t batch = 64;
    std::size_t repetitions = 3; // after one that warms up; the fastest counts
};

struct layer_time {
    std::string name; // "layers.3 conv2d"
    duration forward{};
    duration backward{}; // with the input gradient, except for the model's first layer
};

// Every layer alone, with made-up input. Errors: as stage_program's.
result<std::vector<layer_time>> profile_layers(compute_context& context, proto::Model::Reader model,
                                               const profile_options& options, const clock& time);

} // namespace troupe

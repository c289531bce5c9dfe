// Splitting a model's layers into pipeline stages.
//
// Pure. Source: the straight-pipeline case of PipeDream's planner (arXiv 1806.03377, section 3.2). The paper lets links
// work beside stages and takes the slowest of both; on machines without a network processor a stage's cores also move its
// bytes, so here a stage's time is its computation plus its transfers (as in PipeDream's released planner).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/graph/stage_program.hpp"

namespace troupe {

struct layer_cost {
    double compute_ns = 0; // forward and backward of one minibatch
    double link_ns =
        0; // sending this layer's output forward and its gradient back, if a stage ends here
};

// The contiguous split into exactly `stages` non-empty stages whose slowest one is the fastest; among equal ones one with
// the least traffic. 1 <= stages <= layers.size().
std::vector<layer_range> partition_layers(std::span<const layer_cost> layers, std::size_t stages);

} // namespace troupe

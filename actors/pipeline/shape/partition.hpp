// Partition of a model's layers into pipeline stages.
//
// Pure. Source: the straight-pipeline case of PipeDream's planner (arXiv 1806.03377, section 3.2). The paper overlaps
// transfers with computation and takes the slower of both; on machines without a network processor a stage's cores also
// move its bytes, so here a stage's time is its computation plus its transfers (as in PipeDream's released planner).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/graph/stage_program.hpp"

namespace troupe {

struct layer_cost {
    double compute_ns = 0; // forward and backward of one minibatch
    // Sending this layer's output forward and its gradient back, if a stage ends here.
    double link_ns = 0;
};

// The contiguous partition into exactly `stages` non-empty stages that minimises the time of the slowest stage and, among
// equal partitions, the traffic. 1 <= stages <= layers.size().
std::vector<layer_range> partition_layers(std::span<const layer_cost> layers, std::size_t stages);

} // namespace troupe

// pipedream where stages have replicas of their own, of which minibatch m of an epoch belongs to number m mod R at a
// stage with R replicas. Source: 1F1B-RR of Narayanan et al., PipeDream, SOSP 2019. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/pipeline/shape/schedule_table.hpp"

namespace troupe {

// The warm-up of a replica of each stage: its forward passes before it alternates forward and backward passes.
// `replicas`: of each stage. The warm-up is long enough that all stages from this one on have work, and that the next
// stage has its inputs while this one waits for the last minibatch of a round, whose gradients its replicas sum. S-1-s if
// all stages have equally many.
std::vector<std::uint32_t> warm_ups(std::span<const std::uint32_t> replicas);

// The steps of one replica of each stage, stage s as device s, in minibatches of its own. As they number them
// differently, the table as a whole cannot be played out.
schedule_table make_replicated_stages(std::span<const std::uint32_t> replicas);

} // namespace troupe

// The roles of a training run: which actors stand beside a replica of a stage for it to agree with the others, and what they
// are called. Pure: the plan, the trainer and the roles themselves go by this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/pipeline/epoch_shape.hpp"
#include "actors/pipeline/replica_sync.hpp"

namespace troupe {

enum class run_role : std::uint8_t { reducer, peer, shard, cache, stage };
inline constexpr std::size_t run_roles = 5;

// As agents know it: "reducer".
const char* name_of(run_role role) noexcept;

// "stage-2", of one of several replicas "stage-2.1". A cache that several replicas of a node share: "node-server-2".
std::string actor_name(run_role role, std::uint32_t stage, replica_place at,
                       const replica_sync& sync);

// Beside this replica of a stage with so many parameters and running averages, tensors; in the order in which they are
// spawned, before the stage. With node_servers a cache stands beside several.
std::vector<run_role> roles_beside(const replica_sync& sync, std::size_t parameters,
                                   std::size_t averages, replica_place at);

} // namespace troupe

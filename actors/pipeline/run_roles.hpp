// The roles of a training run: the companions of a replica of a stage, which are the actors that connect it to the other
// replicas, and their names. Pure; used by the plan, the trainer and the roles themselves.
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

// The name by which agents know the role: "reducer".
const char* name_of(run_role role) noexcept;

// "stage-2", with several replicas "stage-2.1". A cache that the replicas of a node share: "node-server-2".
std::string actor_name(run_role role, std::uint32_t stage, replica_place at,
                       const replica_sync& sync);

// The companions of this replica of a stage with so many parameter and running-average tensors, in the order in which they
// are spawned, before the stage. With node_servers one cache is the companion of several replicas.
std::vector<run_role> companion_roles(const replica_sync& sync, std::size_t parameters,
                                      std::size_t averages, replica_place at);

} // namespace troupe

// The roles of a parameter server: "shard" spawns a parameter_shard by ShardOptions, "cache" a parameter_cache by
// CacheOptions (schemas/params.capnp).
#pragma once

#include "actors/agent/role.hpp"

namespace troupe {

role shard_role();
role cache_role();

} // namespace troupe

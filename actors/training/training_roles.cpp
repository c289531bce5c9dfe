#include "actors/training/training_roles.hpp"

#include "actors/collective/reducer_role.hpp"
#include "actors/params/server_roles.hpp"
#include "actors/peers/peer_role.hpp"
#include "actors/pipeline/stage_role.hpp"

namespace troupe {

std::vector<role> training_roles() {
    return {stage_role(), reducer_role(), peer_actor_role(), shard_role(), cache_role()};
}

} // namespace troupe

#include "actors/training/roles/training_roles.hpp"

#include "actors/training/roles/peer_role.hpp"
#include "actors/training/roles/reducer_role.hpp"
#include "actors/training/roles/server_roles.hpp"
#include "actors/training/roles/stage_role.hpp"

namespace troupe {

std::vector<role> training_roles() {
    return {stage_role(), reducer_role(), peer_actor_role(), shard_role(), cache_role()};
}

} // namespace troupe

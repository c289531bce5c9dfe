#include "actors/pipeline/run_roles.hpp"

namespace troupe {

const char* name_of(run_role role) noexcept {
    constexpr const char* names[run_roles] = {"reducer", "peer", "shard", "cache", "stage"};
    return names[static_cast<std::size_t>(role)];
}

std::string actor_name(run_role role, std::uint32_t stage, replica_place at,
                       const replica_sync& sync) {
    if (role == run_role::cache && sync.node_servers)
        return "node-server-" + std::to_string(stage);
    return std::string{name_of(role)} + "-" + std::to_string(stage) +
           (at.replicas > 1 ? "." + std::to_string(at.replica) : std::string{});
}

std::vector<run_role> companion_roles(const replica_sync& sync, std::size_t parameters,
                                      std::size_t averages, replica_place at) {
    std::vector<run_role> roles;
    const bool has_weights = parameters + averages > 0;
    if ((sync.sums_gradients || sync.averages_weights()) && has_weights)
        roles.push_back(run_role::reducer);
    else if (sync.exchange && has_weights)
        roles.push_back(run_role::peer);
    const std::size_t shards = sync.shards_of(parameters, at.replicas);
    if (at.replica < shards)
        roles.push_back(run_role::shard);
    if (shards > 0)
        roles.push_back(run_role::cache);
    return roles;
}

} // namespace troupe

#include "actors/pipeline/shape/run_roles.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace troupe {

namespace {

bool has_weights(const stage_facts& f) {
    return f.parameters + f.averages > 0;
}

bool has_reducer(const stage_facts& f) {
    return (f.sync.sums_gradients || f.sync.averages_weights()) && has_weights(f);
}

bool has_peer(const stage_facts& f) {
    return f.sync.exchange && !has_reducer(f) && has_weights(f);
}

std::size_t shards(const stage_facts& f) {
    return f.sync.shards_of(f.parameters, f.at.replicas);
}

bool has_shard(const stage_facts& f) {
    return f.at.replica < shards(f);
}

bool has_cache(const stage_facts& f) {
    return shards(f) > 0;
}

} // namespace

constinit const run_role run_role::stage{"stage"};
constinit const run_role run_role::reducer{"reducer", has_reducer};
constinit const run_role run_role::peer{"peer", has_peer};
constinit const run_role run_role::shard{"shard", has_shard};
constinit const run_role run_role::cache{"cache", has_cache};

std::span<const run_role> companions() {
    static const std::array all{run_role::reducer, run_role::peer, run_role::shard,
                                run_role::cache};
    return all;
}

std::string actor_name(const run_role& role, std::uint32_t stage, replica_place at,
                       const replica_sync& sync) {
    if (role == run_role::cache && sync.node_servers)
        return "node-server-" + std::to_string(stage);
    return std::string{role.name} + "-" + std::to_string(stage) +
           (at.replicas > 1 ? "." + std::to_string(at.replica) : std::string{});
}

std::vector<run_role> companions_of(const stage_facts& f) {
    std::vector<run_role> due;
    std::ranges::copy_if(companions(), std::back_inserter(due),
                         [&](const run_role& role) { return role.is_due(f); });
    return due;
}

} // namespace troupe

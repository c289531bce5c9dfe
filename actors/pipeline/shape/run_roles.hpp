// The roles of a training run: the stage, and its companions, which are the actors beside a replica of a stage that connect
// it to the other replicas. Pure; used by the plan, the trainer and the roles themselves.
//
// A companion is a row here (its name, and which replicas of a stage have one), a row in
// actors/training/role_options.cpp (its options), and its role in actors/training/roles/. A stage learns the addresses by
// role (schemas/training.capnp, ConnectStage).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/pipeline/shape/epoch_shape.hpp"
#include "actors/pipeline/shape/replica_sync.hpp"

namespace troupe {

// A replica of a stage, as far as its companions depend on it.
struct stage_facts {
    const replica_sync& sync;
    std::size_t parameters = 0; // tensors
    std::size_t averages = 0;   // running-average tensors
    replica_place at;
};

struct run_role {
    std::string_view name; // by which agents know it; a literal
    bool (*is_due)(const stage_facts& f) =
        nullptr; // this replica has such a companion; null: the stage

    friend bool operator==(const run_role& a, const run_role& b) { return a.name == b.name; }
    friend auto operator<=>(const run_role& a, const run_role& b) { return a.name <=> b.name; }

    static const run_role stage, reducer, peer, shard, cache;
};

// All companions, in the order in which they are spawned, before the stage.
std::span<const run_role> companions();

// "stage-2", with several replicas "stage-2.1". A cache that the replicas of a node share: "node-server-2".
std::string actor_name(const run_role& role, std::uint32_t stage, replica_place at,
                       const replica_sync& sync);

// The companions that are due, in the order of companions(). With node_servers one cache is the companion of several
// replicas.
std::vector<run_role> companions_of(const stage_facts& f);

} // namespace troupe

// The options with which a trainer has the actors of its plan spawned. Pure.
#pragma once

#include "actors/training/plan/plan.hpp"
#include "schemas/run.capnp.h"

namespace troupe {

// Writes the options of this actor's role. `samples`: in an epoch of the run.
void write_options(proto::Spawn::Builder to, proto::App::Reader app, const plan& p,
                   const planned_actor& actor, std::uint64_t samples);

// The number of a replica among the workers of its stage's parameter server: its own, or with `node_servers` its node's.
// Nodes are numbered in the order of their first replicas.
std::uint32_t server_worker(const plan& p, std::uint32_t stage, std::uint32_t replica);

} // namespace troupe

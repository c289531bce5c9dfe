// What a trainer asks an agent for: an actor of the plan by its role, with the options that it has there. Pure.
#pragma once

#include "actors/plan/plan.hpp"
#include "schemas/run.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

struct spawn_request {
    std::uint64_t run = 0;
    std::uint64_t request = 0;
    std::uint64_t minibatches = 0; // in the whole run
};

frame_builder<proto::Spawn> spawn_message(proto::App::Reader app, const plan& p,
                                          const planned_actor& actor, const spawn_request& as);

// Of the parameter server of a stage with replicas on these devices: the number of this replica's, which with servers of
// their own is its node's. Nodes are numbered in the order of their first replicas.
std::uint32_t server_worker(const plan& p, std::uint32_t stage, std::uint32_t replica);

} // namespace troupe

// Addresses as they stand in messages.
#pragma once

#include "actors/runtime/actor.hpp"
#include "actors/runtime/failure.hpp"
#include "kernels/device/device.hpp"
#include "schemas/run.capnp.h"

namespace troupe {

inline void write_address(proto::ActorAddress::Builder to, actor_address address) {
    to.setNode(address.node.value());
    to.setActor(address.actor.value());
}

inline actor_address read_address(proto::ActorAddress::Reader from) {
    return {node_id{from.getNode()}, actor_number{from.getActor()}};
}

} // namespace troupe

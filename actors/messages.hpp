// Addresses and completions as they stand in messages.
#pragma once

#include <string>

#include "actors/runtime/failure.hpp"
#include "schemas/base/clock.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/ids.hpp"
#include "schemas/device.capnp.h"
#include "schemas/training.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

inline void write_address(proto::ActorAddress::Builder to, actor_address address) {
    to.setNode(address.node.value());
    to.setActor(address.actor.value());
}

inline actor_address read_address(proto::ActorAddress::Reader from) {
    return {node_id{from.getNode()}, actor_number{from.getActor()}};
}

// The message by which a device's completion reaches the actor that submitted the work.
inline frame_builder<proto::WorkDone>
work_done_message(std::uint64_t ticket, const result<void>& outcome, duration busy) {
    frame_builder<proto::WorkDone> done;
    done.body().setTicket(ticket);
    if (!outcome)
        write_failure(done.body().initFailure(), outcome.failure());
    done.body().setBusyNs(busy.count());
    return done;
}

} // namespace troupe

// Addresses and completions as they stand in messages.
#pragma once

#include "actors/runtime/actor.hpp"
#include "actors/runtime/failure.hpp"
#include "kernels/device/device.hpp"
#include "schemas/device.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

inline void write_address(proto::ActorAddress::Builder to, actor_address address) {
    to.setNode(address.node.value());
    to.setActor(address.actor.value());
}

inline actor_address read_address(proto::ActorAddress::Reader from) {
    return {node_id{from.getNode()}, actor_number{from.getActor()}};
}

// Tells the actor that submits the work of its completion, by WorkDone with this ticket.
inline device_completion completion_to(self_handle submitter, std::uint64_t ticket) {
    return [submitter = std::move(submitter), ticket](const result<void>& outcome, duration busy) {
        frame_builder<proto::WorkDone> done;
        done.body().setTicket(ticket);
        if (!outcome)
            write_failure(done.body().initFailure(), outcome.failure());
        done.body().setBusyNs(busy.count());
        submitter.post(std::move(done));
    };
}

// When the work was under way that a WorkDone completes: it was posted when the work ended, and may have waited since.
struct work_span {
    time_point began, ended;
};
inline work_span span_of(proto::WorkDone::Reader body, const frame& f) {
    const time_point ended{f.envelope().getSentNs()};
    return {ended + -duration{body.getBusyNs()}, ended};
}

} // namespace troupe

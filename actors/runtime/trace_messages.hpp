// The writer and the reader of trace events in messages (schemas/trace.capnp).
#pragma once

#include "actors/runtime/trace.hpp"
#include "schemas/trace.capnp.h"

namespace troupe {

inline void write_event(proto::TraceEvent::Builder to, const trace_event& event) {
    to.setKind(event.kind == trace_kind::message ? proto::TraceKind::MESSAGE
                                                 : proto::TraceKind::COMPUTE);
    to.setType(event.type);
    to.setFromNode(event.from_node.value());
    to.setFromActor(event.from_actor.value());
    to.setToActor(event.to_actor.value());
    to.setSequence(event.sequence);
    to.setCause(event.cause);
    to.setCauseNode(event.cause_node.value());
    to.setTraceId(event.trace_id);
    to.setWork(event.work.value());
    to.setStateVersion(event.state.value());
    to.setBytes(event.bytes);
    to.setRun(event.run);
    to.setSentNs(event.sent_ns);
    to.setEnqueuedNs(event.enqueued_ns);
    to.setStartedNs(event.started_ns);
    to.setEndedNs(event.ended_ns);
}

inline trace_event read_event(proto::TraceEvent::Reader from) {
    trace_event event;
    event.kind =
        from.getKind() == proto::TraceKind::COMPUTE ? trace_kind::compute : trace_kind::message;
    event.type = from.getType();
    event.from_node = node_id{from.getFromNode()};
    event.from_actor = actor_number{from.getFromActor()};
    event.to_actor = actor_number{from.getToActor()};
    event.sequence = from.getSequence();
    event.cause = from.getCause();
    event.cause_node = node_id{from.getCauseNode()};
    event.trace_id = from.getTraceId();
    event.work = work_id{from.getWork()};
    event.state = state_version{from.getStateVersion()};
    event.bytes = from.getBytes();
    event.run = from.getRun();
    event.sent_ns = from.getSentNs();
    event.enqueued_ns = from.getEnqueuedNs();
    event.started_ns = from.getStartedNs();
    event.ended_ns = from.getEndedNs();
    return event;
}

} // namespace troupe

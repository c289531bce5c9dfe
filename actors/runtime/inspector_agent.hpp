// Answers inspectors: who is on this node, what happened, and what happens now. Read-only. Spawned under its well-known
// number. The protocol is in schemas/trace.capnp.
#pragma once

#include "actors/runtime/actor.hpp"
#include "actors/runtime/message_filter.hpp"
#include "schemas/trace.capnp.h"

namespace troupe {

class inspector_agent final : public actor {
  public:
    explicit inspector_agent(actor_context& context);

  private:
    void list_actors(proto::ListActors::Reader request, const frame& f);
    void read_trace(proto::ReadTrace::Reader request, const frame& f);
    void open_tail(proto::OpenTail::Reader request, const frame& f);
    void extend_tail(proto::TailCredit::Reader request, const frame& f);
    void close_tail(proto::CloseTail::Reader request, const frame& f);
    void on_down(actor_address observer, const error& why) override;
};

} // namespace troupe

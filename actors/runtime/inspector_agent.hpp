// Answers inspectors about the node's actors, past events and current ones. Read-only. Spawned under its well-known
// number. The protocol is in schemas/trace.capnp.
#pragma once

#include "actors/runtime/actor.hpp"
#include "actors/runtime/message_filter.hpp"
#include "kernels/tensor/memory.hpp"
#include "schemas/trace.capnp.h"

namespace troupe {

// A pool of this node that inspectors may see; it must outlive the node's runtime.
struct watched_pool {
    std::string name; // "cpu:0"
    const memory_pool* pool = nullptr;
};

class inspector_agent final : public actor {
  public:
    explicit inspector_agent(actor_context& context, std::vector<watched_pool> pools = {});

  private:
    void list_actors(proto::ListActors::Reader request, const frame& f);
    void read_trace(proto::ReadTrace::Reader request, const frame& f);
    void open_tail(proto::OpenTail::Reader request, const frame& f);
    void extend_tail(proto::TailCredit::Reader request, const frame& f);
    void close_tail(proto::CloseTail::Reader request, const frame& f);
    void on_down(actor_address observer, const error& why) override;

    const std::vector<watched_pool> pools_;
};

} // namespace troupe

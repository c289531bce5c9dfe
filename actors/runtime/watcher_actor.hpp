// Reports the end of this node's actors to actors of other nodes: the far end of actor::watch. Every node has one, under
// its well-known number. The protocol is in schemas/cluster.capnp, "watches".
#pragma once

#include "actors/runtime/actor.hpp"

namespace troupe {

class watcher_actor final : public actor {
  public:
    explicit watcher_actor(actor_context& context);

  private:
    void start_watch(proto::Watch::Reader request, const frame& f);
    void end_watch(proto::Unwatch::Reader request, const frame& f);
};

} // namespace troupe

// Private to actors/runtime: an actor of another node, as CAF sees it. Frames that it is given leave by the endpoint;
// it ends when its node is lost, and its watchers are told in the same way as of the end of a local actor.
#pragma once

#include <caf/actor_proxy.hpp>

#include "actors/runtime/node_core.hpp"

namespace troupe {

class remote_actor final : public caf::actor_proxy {
  public:
    remote_actor(caf::actor_config& config, node_core& core, actor_address remote)
        : caf::actor_proxy{config}, core_{core}, remote_{remote} {}

    send_status deliver(frame_ptr f) { return core_.send_to_peer(remote_.node, std::move(f)); }

    void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* host) override;
    void kill_proxy(caf::execution_unit* host, caf::error reason) override;

    // A proxy for `remote`. Every node has an id within CAF, so that equal actor numbers of two nodes stay apart.
    static caf::strong_actor_ptr make(node_core& core, actor_address remote);

  private:
    node_core& core_;
    const actor_address remote_;
};

// Tells `watcher` when the actor that it is attached to ends.
class end_watch final : public caf::attachable {
  public:
    end_watch(node_core& core, actor_address watcher, actor_address target)
        : core_{core}, watcher_{watcher}, target_{target} {}

    void actor_exited(const caf::error& reason, caf::execution_unit* host) override;
    bool matches(const token& what) override;

    // A token that selects the watch of `watcher`, which must live as long as the token.
    static token of(const actor_address& watcher);

  private:
    node_core& core_;
    const actor_address watcher_;
    const actor_address target_;
};

} // namespace troupe

#include "actors/runtime/remote_actor.hpp"

#include <cstdio>

#include <caf/make_actor.hpp>
#include <caf/node_id.hpp>

#include "actors/runtime/delivery.hpp"

namespace troupe {

namespace {

constexpr std::size_t watch_token_type = 0x77617463; // differs from CAF's own types

std::string describe(actor_address a) {
    return "actor " + std::to_string(a.actor.value()) + " on node " +
           std::to_string(a.node.value());
}

} // namespace

void remote_actor::enqueue(caf::mailbox_element_ptr element, caf::execution_unit*) {
    if (element->content().match_elements<delivery>())
        deliver(element->content().get_as<delivery>(0).f);
    else
        bounce(element);
}

void remote_actor::kill_proxy(caf::execution_unit* host, caf::error reason) {
    cleanup(std::move(reason), host);
}

caf::strong_actor_ptr remote_actor::make(node_core& core, actor_address remote) {
    char host[41];
    std::snprintf(host, sizeof host, "%040llx",
                  static_cast<unsigned long long>(remote.node.value()));
    const auto node = caf::make_node_id(1, caf::string_view{host, 40});
    TROUPE_CHECK(node, "forty hexadecimal digits name a node");
    caf::actor_config config;
    return caf::make_actor<remote_actor, caf::strong_actor_ptr>(
        remote.actor.value(), *node, &core.system(), config, core, remote);
}

void end_watch::actor_exited(const caf::error& reason, caf::execution_unit*) {
    core_.post_down(watcher_, target_, from_caf(reason, describe(target_)));
}

bool end_watch::matches(const token& what) {
    return what.subtype == watch_token_type &&
           *static_cast<const actor_address*>(what.ptr) == watcher_;
}

caf::attachable::token end_watch::of(const actor_address& watcher) {
    return {watch_token_type, &watcher};
}

} // namespace troupe

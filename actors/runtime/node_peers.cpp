// The part of node_core that deals with other nodes and with the end of actors.
#include <optional>

#include <caf/atom.hpp>

#include "actors/runtime/actor_shell.hpp"
#include "actors/runtime/arrival_unit.hpp"
#include "actors/runtime/caf_order.hpp"
#include "actors/runtime/failure.hpp"
#include "actors/runtime/message_types.hpp"
#include "actors/runtime/node_core.hpp"
#include "actors/runtime/remote_actor.hpp"
#include "actors/runtime/tail.hpp"
#include "transport/handshake/role.hpp"

namespace troupe {

namespace {

// Peers that attached as observers get answers and nothing else: they may ask the inspector's agent and the cluster
// actor anything, watch actors, and reject messages that come too late for one of their own actors.
bool only_looks(const frame& f) {
    const actor_number to = f.to().actor;
    const std::uint64_t type = f.body_type();
    return to == well_known::inspector || to == well_known::watcher ||
           (to == well_known::cluster &&
            (type == type_id_of<proto::ListMembers>() || type == type_id_of<proto::Subscribe>() ||
             type == type_id_of<proto::Rejected>()));
}

void kill(const caf::strong_actor_ptr& proxy, const error& why) {
    static_cast<remote_actor*>(caf::actor_cast<caf::abstract_actor*>(proxy))
        ->kill_proxy(nullptr, to_caf(why));
}

} // namespace

// ---- supervision ----

void node_core::watch(actor_address watcher, actor_address target) {
    const bool local = target.node == options_.node;
    const caf::strong_actor_ptr found =
        local ? actors_.find(target.actor) : peers_.path_to(target).proxy;
    if (!found) {
        post_down(watcher, target,
                  local ? error{errc::lost, "there is no such actor"}
                        : peers_.why_not_up(target.node));
        return;
    }
    found->get()->detach(end_watch::of(watcher));
    found->get()->attach(caf::attachable_ptr{new end_watch{*this, watcher, target}});
    if (local) {
        release_to_caf(&actor_shell::of(found));
        return;
    }
    frame_builder<proto::Watch> request;
    request.body().setActor(target.actor.value());
    stamp(request.envelope(), watcher.actor, {target.node, well_known::watcher});
    send_to_peer(target.node, std::move(request).finish());
}

void node_core::unwatch(actor_address watcher, actor_address target) {
    const bool local = target.node == options_.node;
    const caf::strong_actor_ptr found =
        local ? actors_.find(target.actor) : peers_.proxy_of(target);
    if (!found)
        return;
    const bool was_watched = found->get()->detach(end_watch::of(watcher)) > 0;
    if (local)
        release_to_caf(&actor_shell::of(found));
    if (local || !was_watched)
        return;
    frame_builder<proto::Unwatch> request;
    request.body().setActor(target.actor.value());
    stamp(request.envelope(), watcher.actor, {target.node, well_known::watcher});
    send_to_peer(target.node, std::move(request).finish());
}

void node_core::post_down(actor_address watcher, actor_address target, const error& why) {
    frame_builder<proto::Down> news;
    news.body().setNode(target.node.value());
    news.body().setActor(target.actor.value());
    write_failure(news.body().initFailure(), why);
    // A local actor is itself the sender, so that its last messages and its end have the same origin.
    stamp(news.envelope(), target.node == options_.node ? target.actor : well_known::nobody,
          watcher);
    if (watcher.node == options_.node)
        post(std::move(news).finish());
    else
        send_to_peer(watcher.node, std::move(news).finish());
}

void node_core::end_proxy(actor_address remote, actor_address told, const error& why) {
    const caf::strong_actor_ptr last = peers_.take_proxy(remote);
    if (!last)
        return;
    last->get()->detach(end_watch::of(told));
    kill(last, why);
}

// ---- peers ----

send_status node_core::send_to_peer(node_id peer, frame_ptr f) {
    if (options_.network == nullptr || cut_off_.load(std::memory_order_relaxed))
        return send_status::gone;
    return options_.network->send(peer, std::move(f));
}

void node_core::subscribe_peers(actor_address local) {
    peers_.subscribe(
        local, [this](actor_address subscriber) { tell_listening(subscriber); },
        [this](actor_address subscriber, const peer_info& peer) {
            tell_peer_up(subscriber, peer);
        });
}

void node_core::tell_listening(actor_address subscriber) {
    frame_builder<proto::Listening> news;
    if (options_.network != nullptr)
        news.body().setAddress(options_.network->address());
    stamp(news.envelope(), well_known::nobody, subscriber);
    post(std::move(news).finish());
}

void node_core::tell_peer_up(actor_address subscriber, const peer_info& peer) {
    frame_builder<proto::PeerUp> news;
    news.body().setNode(peer.node.value());
    news.body().setName(peer.name);
    news.body().setAddress(peer.address);
    news.body().setRole(to_proto(peer.role));
    stamp(news.envelope(), well_known::nobody, subscriber);
    post(std::move(news).finish());
}

void node_core::peer_up(const peer_info& peer) {
    peers_.add(peer, options_.time->now(), [this](actor_address subscriber, const peer_info& up) {
        tell_peer_up(subscriber, up);
    });
}

void node_core::frame_arrived(node_id from, frame_ptr f) {
    if (cut_off_.load(std::memory_order_relaxed))
        return;
    const peer_role role = peers_.hear(from, options_.time->now());
    if (f->from().node != from || f->to().node != options_.node) {
        counters_.add_misrouted();
        return;
    }
    if (const message_type* type = options_.messages->find(f->body_type());
        type && type->node_local) {
        reject(*f, type->name + " never leaves its node");
        return;
    }
    if (role == peer_role::observer && !only_looks(*f)) {
        reject(*f, "an observer may only look");
        return;
    }
    // Reading a trace takes long, so it does not run on the thread that brings all other frames of the peers.
    arrival_unit* const here = f->to().actor == well_known::inspector ? nullptr : arrivals_.get();
    post(std::move(f), {}, here);
    if (here != nullptr)
        here->run();
}

void node_core::peer_writable(node_id peer) {
    for (const auto& handle : peers_.take_parked(peer))
        actor_shell::of(handle).release();
}

void node_core::peer_down(node_id gone, const error& why) {
    const std::optional<peer_table::remains> left = peers_.remove(gone, why);
    if (!left)
        return;
    for (const auto& handle : left->parked)
        actor_shell::of(handle).release();
    tails_->forget_node(gone);
    for (const auto& [number, proxy] : left->ended)
        kill(proxy, left->reason);
    for (const actor_address subscriber : left->subscribers) {
        frame_builder<proto::PeerDown> news;
        news.body().setNode(gone.value());
        write_failure(news.body().initFailure(), why);
        stamp(news.envelope(), well_known::nobody, subscriber);
        post(std::move(news).finish());
    }
}

void node_core::connect_failed(const std::string& address, const error& why) {
    for (const actor_address subscriber : peers_.subscribers()) {
        frame_builder<proto::ConnectFailed> news;
        news.body().setAddress(address);
        write_failure(news.body().initFailure(), why);
        stamp(news.envelope(), well_known::nobody, subscriber);
        post(std::move(news).finish());
    }
}

} // namespace troupe

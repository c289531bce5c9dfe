// The part of node_core that deals with other nodes and with the end of actors.
#include <algorithm>
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

// ---- supervision ----

void node_core::watch(actor_address watcher, actor_address target) {
    const bool local = target.node == options_.node;
    const caf::strong_actor_ptr found = local ? find(target.actor) : proxy_of(target, nullptr);
    if (!found) {
        post_down(watcher, target,
                  local ? error{errc::lost, "there is no such actor"} : not_connected(target.node));
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

error node_core::not_connected(node_id peer) const {
    const std::lock_guard guard{peers_lock_};
    const auto last = std::find_if(lost_peers_.rbegin(), lost_peers_.rend(),
                                   [&](const auto& lost) { return lost.first == peer; });
    return last != lost_peers_.rend() ? last->second
                                      : error{errc::lost, "its node is not connected"};
}

void node_core::unwatch(actor_address watcher, actor_address target) {
    const bool local = target.node == options_.node;
    const caf::strong_actor_ptr found = local ? find(target.actor) : known_proxy(target);
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

void node_core::park(actor_shell& self, const route_outcome& congested) {
    const std::lock_guard guard{peers_lock_};
    const auto found = peers_.find(congested.peer);
    if (found == peers_.end() || found->second.epoch != congested.epoch)
        return; // the peer has become writable in between
    auto& parked = found->second.parked;
    const auto same = [&](const caf::strong_actor_ptr& p) { return p->get() == &self; };
    if (std::none_of(parked.begin(), parked.end(), same)) {
        parked.emplace_back(self.ctrl());
        self.hold();
    }
}

// ---- peers ----

caf::strong_actor_ptr node_core::known_proxy(actor_address remote) const {
    const std::lock_guard guard{peers_lock_};
    const auto found = peers_.find(remote.node);
    if (found == peers_.end())
        return {};
    const auto proxy = found->second.proxies.find(remote.actor);
    return proxy == found->second.proxies.end() ? caf::strong_actor_ptr{} : proxy->second;
}

void node_core::end_proxy(actor_address remote, actor_address told, const error& why) {
    caf::strong_actor_ptr last; // ended without the lock, because its end tells its watchers
    {
        const std::lock_guard guard{peers_lock_};
        const auto found = peers_.find(remote.node);
        if (found == peers_.end())
            return;
        const auto proxy = found->second.proxies.find(remote.actor);
        if (proxy == found->second.proxies.end())
            return;
        last = std::move(proxy->second);
        found->second.proxies.erase(proxy);
    }
    last->get()->detach(end_watch::of(told));
    static_cast<remote_actor*>(caf::actor_cast<caf::abstract_actor*>(last))
        ->kill_proxy(nullptr, to_caf(why));
}

caf::strong_actor_ptr node_core::proxy_of(actor_address remote, std::uint64_t* epoch) {
    const std::lock_guard guard{peers_lock_};
    const auto found = peers_.find(remote.node);
    if (found == peers_.end())
        return {};
    if (epoch != nullptr)
        *epoch = found->second.epoch;
    auto& proxies = found->second.proxies;
    if (const auto known = proxies.find(remote.actor); known != proxies.end())
        return known->second;
    if (proxies.size() >= limits::remote_actors_max) // the numbers are chosen by the peer
        return {};
    return proxies.emplace(remote.actor, remote_actor::make(*this, remote)).first->second;
}

send_status node_core::send_to_peer(node_id peer, frame_ptr f) {
    if (options_.network == nullptr || cut_off_.load(std::memory_order_relaxed))
        return send_status::gone;
    return options_.network->send(peer, std::move(f));
}

void node_core::subscribe_peers(actor_address local) {
    const std::lock_guard guard{peers_lock_};
    subscribers_.push_back(local);
    if (listening_)
        tell_listening(local);
    for (const auto& [node, peer] : peers_)
        tell_subscriber(local, peer.info);
}

void node_core::tell_listening(actor_address subscriber) {
    frame_builder<proto::Listening> news;
    if (options_.network != nullptr)
        news.body().setAddress(options_.network->address());
    stamp(news.envelope(), well_known::nobody, subscriber);
    post(std::move(news).finish());
}

void node_core::tell_subscriber(actor_address subscriber, const peer_info& peer) {
    frame_builder<proto::PeerUp> news;
    news.body().setNode(peer.node.value());
    news.body().setName(peer.name);
    news.body().setAddress(peer.address);
    news.body().setRole(to_proto(peer.role));
    stamp(news.envelope(), well_known::nobody, subscriber);
    post(std::move(news).finish());
}

std::vector<peer_info> node_core::peers() const {
    std::vector<peer_info> list;
    const std::lock_guard guard{peers_lock_};
    for (const auto& [node, peer] : peers_)
        list.push_back(peer.info);
    return list;
}

void node_core::peer_up(const peer_info& peer) {
    const std::lock_guard guard{peers_lock_};
    struct peer& fresh = peers_[peer.node];
    fresh.info = peer;
    fresh.last_heard = options_.time->now();
    for (const actor_address subscriber : subscribers_)
        tell_subscriber(subscriber, peer);
}

bool node_core::fits(node_id from, const frame& f) const {
    return f.from().node == from && f.to().node == options_.node;
}

void node_core::frame_arrived(node_id from, frame_ptr f) {
    if (cut_off_.load(std::memory_order_relaxed))
        return;
    const peer_role role = hear(from);
    if (!fits(from, *f)) {
        misrouted_.fetch_add(1, std::memory_order_relaxed);
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

// Notes a sign of life from a peer, and returns the peer's role.
peer_role node_core::hear(node_id from) {
    const time_point now = options_.time->now();
    const std::lock_guard guard{peers_lock_};
    const auto found = peers_.find(from);
    if (found == peers_.end())
        return peer_role::member;
    found->second.last_heard = now;
    return found->second.info.role;
}

std::optional<time_point> node_core::last_heard(node_id peer) const {
    const std::lock_guard guard{peers_lock_};
    const auto found = peers_.find(peer);
    if (found == peers_.end())
        return std::nullopt;
    return found->second.last_heard;
}

// Peers that attached as observers get answers and nothing else: they may ask the inspector's agent and the cluster
// actor anything, watch actors, and reject messages that come too late for one of their own actors.
bool node_core::only_looks(const frame& f) const {
    const actor_number to = f.to().actor;
    const std::uint64_t type = f.body_type();
    return to == well_known::inspector || to == well_known::watcher ||
           (to == well_known::cluster &&
            (type == type_id_of<proto::ListMembers>() || type == type_id_of<proto::Subscribe>() ||
             type == type_id_of<proto::Rejected>()));
}

void node_core::peer_writable(node_id peer) {
    std::vector<caf::strong_actor_ptr> parked;
    {
        const std::lock_guard guard{peers_lock_};
        const auto found = peers_.find(peer);
        if (found == peers_.end())
            return;
        ++found->second.epoch;
        parked.swap(found->second.parked);
    }
    for (const auto& handle : parked)
        actor_shell::of(handle).release();
}

void node_core::peer_down(node_id gone, const error& why) {
    peer last;
    std::optional<error> reason;
    std::vector<actor_address> subscribers;
    {
        const std::lock_guard guard{peers_lock_};
        const auto found = peers_.find(gone);
        if (found == peers_.end())
            return;
        last = std::move(found->second);
        peers_.erase(found);
        reason.emplace(errc::lost, "node " + last.info.name + " is lost: " + why.message());
        lost_peers_.emplace_back(gone, *reason);
        if (lost_peers_.size() > lost_peers_max)
            lost_peers_.pop_front();
        subscribers = subscribers_;
    }
    for (const auto& handle : last.parked)
        actor_shell::of(handle).release();
    tails_->forget_node(gone);
    for (const auto& [number, proxy] : last.proxies)
        static_cast<remote_actor*>(caf::actor_cast<caf::abstract_actor*>(proxy))
            ->kill_proxy(nullptr, to_caf(*reason));
    for (const actor_address subscriber : subscribers) {
        frame_builder<proto::PeerDown> news;
        news.body().setNode(gone.value());
        write_failure(news.body().initFailure(), why);
        stamp(news.envelope(), well_known::nobody, subscriber);
        post(std::move(news).finish());
    }
}

void node_core::connect_failed(const std::string& address, const error& why) {
    std::vector<actor_address> subscribers;
    {
        const std::lock_guard guard{peers_lock_};
        subscribers = subscribers_;
    }
    for (const actor_address subscriber : subscribers) {
        frame_builder<proto::ConnectFailed> news;
        news.body().setAddress(address);
        write_failure(news.body().initFailure(), why);
        stamp(news.envelope(), well_known::nobody, subscriber);
        post(std::move(news).finish());
    }
}

} // namespace troupe

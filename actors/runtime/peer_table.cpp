#include "actors/runtime/peer_table.hpp"

#include <algorithm>

#include "actors/runtime/actor_shell.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

peer_table::peer_table(std::function<caf::strong_actor_ptr(actor_address)> make_proxy)
    : make_proxy_{std::move(make_proxy)} {}

// ---- coming and going ----

void peer_table::add(const peer_info& peer, time_point now, const tell_of_peer& is_up) {
    const std::lock_guard guard{lock_};
    struct peer& fresh = up_[peer.node];
    fresh.info = peer;
    fresh.last_heard = now;
    for (const actor_address subscriber : subscribers_)
        is_up(subscriber, peer);
}

std::optional<peer_table::remains> peer_table::remove(node_id gone, const error& why) {
    const std::lock_guard guard{lock_};
    const auto found = up_.find(gone);
    if (found == up_.end())
        return std::nullopt;
    peer last = std::move(found->second);
    up_.erase(found);
    const std::string name = "node " + last.info.name;
    error reason = why.code() == errc::refused
                       ? error{errc::refused, name + ": " + why.message()}
                       : error{errc::lost, name + " is lost: " + why.message()};
    lost_.emplace_back(gone, reason);
    if (lost_.size() > lost_max)
        lost_.pop_front();
    return remains{std::move(last.proxies), std::move(last.parked), subscribers_,
                   std::move(reason)};
}

void peer_table::clear() {
    std::map<node_id, peer> last; // proxies end without the lock
    const std::lock_guard guard{lock_};
    last.swap(up_);
}

std::vector<peer_info> peer_table::list() const {
    std::vector<peer_info> list;
    const std::lock_guard guard{lock_};
    for (const auto& [node, peer] : up_)
        list.push_back(peer.info);
    return list;
}

error peer_table::why_not_up(node_id peer) const {
    const std::lock_guard guard{lock_};
    const auto last = std::find_if(lost_.rbegin(), lost_.rend(),
                                   [&](const auto& lost) { return lost.first == peer; });
    return last != lost_.rend()
               ? last->second
               : error{errc::lost, "its node has no connection to the one that needs it, for a "
                                   "reason that the nodes' logs name"};
}

peer_role peer_table::hear(node_id from, time_point now) {
    const std::lock_guard guard{lock_};
    const auto found = up_.find(from);
    if (found == up_.end())
        return peer_role::member;
    found->second.last_heard = now;
    return found->second.info.role;
}

std::optional<time_point> peer_table::last_heard(node_id peer) const {
    const std::lock_guard guard{lock_};
    const auto found = up_.find(peer);
    if (found == up_.end())
        return std::nullopt;
    return found->second.last_heard;
}

// ---- proxies ----

peer_table::path peer_table::path_to(actor_address remote) {
    const std::lock_guard guard{lock_};
    const auto found = up_.find(remote.node);
    if (found == up_.end())
        return {};
    auto& [node, peer] = *found;
    if (const auto known = peer.proxies.find(remote.actor); known != peer.proxies.end())
        return {known->second, peer.epoch};
    if (peer.proxies.size() >= limits::remote_actors_max) // the numbers are chosen by the peer
        return {{}, peer.epoch};
    return {peer.proxies.emplace(remote.actor, make_proxy_(remote)).first->second, peer.epoch};
}

caf::strong_actor_ptr peer_table::proxy_of(actor_address remote) const {
    const std::lock_guard guard{lock_};
    const auto found = up_.find(remote.node);
    if (found == up_.end())
        return {};
    const auto proxy = found->second.proxies.find(remote.actor);
    return proxy == found->second.proxies.end() ? caf::strong_actor_ptr{} : proxy->second;
}

caf::strong_actor_ptr peer_table::take_proxy(actor_address remote) {
    const std::lock_guard guard{lock_};
    const auto found = up_.find(remote.node);
    if (found == up_.end())
        return {};
    auto taken = found->second.proxies.extract(remote.actor);
    return taken ? std::move(taken.mapped()) : caf::strong_actor_ptr{};
}

// ---- congestion ----

void peer_table::park(actor_shell& self, node_id peer, std::uint64_t epoch) {
    const std::lock_guard guard{lock_};
    const auto found = up_.find(peer);
    if (found == up_.end() || found->second.epoch != epoch)
        return; // the peer has become writable in between
    auto& parked = found->second.parked;
    const auto same = [&](const caf::strong_actor_ptr& p) { return p->get() == &self; };
    if (std::none_of(parked.begin(), parked.end(), same)) {
        parked.emplace_back(self.ctrl());
        self.hold();
    }
}

std::vector<caf::strong_actor_ptr> peer_table::take_parked(node_id peer) {
    const std::lock_guard guard{lock_};
    const auto found = up_.find(peer);
    if (found == up_.end())
        return {};
    ++found->second.epoch;
    return std::exchange(found->second.parked, {});
}

// ---- subscribers ----

void peer_table::subscribe(actor_address local, const tell& listens, const tell_of_peer& is_up) {
    const std::lock_guard guard{lock_};
    subscribers_.push_back(local);
    if (listening_)
        listens(local);
    for (const auto& [node, peer] : up_)
        is_up(local, peer.info);
}

void peer_table::begin_to_listen(const tell& listens) {
    const std::lock_guard guard{lock_};
    listening_ = true;
    for (const actor_address subscriber : subscribers_)
        listens(subscriber);
}

bool peer_table::is_listening() const {
    const std::lock_guard guard{lock_};
    return listening_;
}

std::vector<actor_address> peer_table::subscribers() const {
    const std::lock_guard guard{lock_};
    return subscribers_;
}

} // namespace troupe

// The part of the node that sets up and ends peers; all on the progress thread.
#include <algorithm>

#include "transport/node/linked_endpoint.hpp"
#include "transport/tcp/plain_stream.hpp"

namespace troupe {

namespace {

constexpr duration abandon_time = std::chrono::milliseconds{500};
constexpr duration send_allowance = std::chrono::seconds{10}; // for a busy peer

} // namespace

result<void> linked_endpoint::route_found(const peer_ptr& peer, link_route route) {
    if (route == link_route::tcp) {
        streams_.add(peer);
        return {};
    }
    const auto context = means_->context(ucx_transport_of(route));
    if (!context)
        return context.failure();
    std::lock_guard worker{worker_lock_};
    return links_.add(peer, **context);
}

void linked_endpoint::frames_connected(const peer_ptr& peer, file_descriptor socket,
                                       const session_secrets& secrets) {
    std::unique_ptr<byte_stream> stream;
    if (peer->is_sealed)
        stream = std::make_unique<sealed_stream>(
            std::move(socket),
            sealed_stream::keys{secrets.frame_send_key, secrets.frame_receive_key},
            *options_.links.time, options_.keys_live);
    else
        stream = std::make_unique<plain_stream>(std::move(socket));
    streams_.open(*peer, std::move(stream));
    if (!peer->parting.frames_announced)
        peer->parting.give_up_at.reset();
}

void linked_endpoint::peer_accepted(const peer_ptr& peer) {
    result<void> connected;
    if (peer->stream != nullptr) {
        peer->info.over = peer->is_sealed ? "tcp, sealed" : "tcp";
        // Its connection for frames comes now, or the peer goes.
        peer->parting.give_up_at = options_.links.time->now() + options_.connect_timeout;
        due_.watching = true;
    } else {
        std::lock_guard worker{worker_lock_};
        connected = links_.connect(*peer);
    }
    due_.wiring = true;
    peer->queue.open();
    peers_.add(peer);
    reports_.add([p = peer->info](endpoint_listener& l) { l.peer_up(p); });
    if (!connected)
        return take_down(peer, connected.failure());
    if (peer->stream != nullptr)
        return;
    std::lock_guard worker{worker_lock_};
    links_.receiver().release(*peer);
    collect();
}

void linked_endpoint::peer_said_alive(const peer_ptr& peer) {
    reports_.add([n = peer->info.node](endpoint_listener& l) { l.peer_alive(n); });
}

void linked_endpoint::peer_said_goodbye(const peer_ptr& peer, std::uint64_t frames) {
    if (is_closing() && peer->wired.is_told) {
        take_down(peer, error{errc::cancelled, "both ends have closed"});
        return;
    }
    if (peer->parting.reason)
        return; // it goes for that
    peer->parting.frames_announced = frames;
    peer->parting.give_up_at = options_.links.time->now() + options_.links.drain_timeout;
    due_.watching = true;
    look_after_peers(options_.links.time->now());
}

void linked_endpoint::peer_ended(const peer_ptr& peer, const error& why) {
    if (peer->parting.has_said_goodbye) {
        take_down(peer, error{errc::cancelled, "it has answered the goodbye"});
        return;
    }
    take_down(peer, why);
}

void linked_endpoint::connect_failed(const std::string& address, const error& why) {
    reports_.add([address, why](endpoint_listener& l) { l.connect_failed(address, why); });
}

// UCX sends frames one after another, so frames behind a large one wait, heartbeats too; the control connection does not.
// The progress thread does not sleep long while frames are under way. A peer with stuck frames is not told: its heartbeats
// then give this node up.
void linked_endpoint::say_alive(time_point now) {
    pace_.said_alive(now);
    std::unordered_map<const peer_state*, frames_under_way> sending;
    {
        std::lock_guard worker{worker_lock_};
        if (links_.sender().in_flight() > 0)
            sending = links_.sender().under_way();
    }
    for (const auto& [node, peer] : peers_)
        if (peer->stream != nullptr)
            if (const auto frames = peer->stream->sender().under_way())
                sending.emplace(peer.get(), *frames);
    // The peer may wait for memory as long as this node would.
    const duration allowance = options_.links.memory_timeout + send_allowance;
    for (const auto& [node, peer] : peers_)
        if (const auto frames = sending.find(peer.get());
            frames != sending.end() && !peer->sending.is_stuck(frames->second, allowance, now))
            control_.say(*peer, alive_message{});
}

void linked_endpoint::say_wired() {
    due_.wiring = false;
    std::lock_guard worker{worker_lock_};
    for (const auto& [node, peer] : peers_) {
        if (peer->wired.is_told)
            continue;
        peer->wired.is_told = peer->wired.here;
        if (peer->wired.here)
            control_.say(*peer, wired_message{});
        else
            due_.wiring = true;
    }
}

void linked_endpoint::look_after_peers(time_point now) {
    std::vector<std::pair<peer_ptr, error>> over;
    due_.watching = false;
    for (const auto& [node, peer] : peers_) {
        if (!peer->parting.give_up_at)
            continue;
        const bool has_all = peer->parting.frames_announced && peer->wired.is_told &&
                             peer->frames_received() >= *peer->parting.frames_announced;
        if (has_all)
            over.emplace_back(peer, error{errc::cancelled, "it was stopped"});
        else if (*peer->parting.give_up_at <= now)
            over.emplace_back(peer, peer->parting.reason.value_or(
                                        error{errc::lost, "the connection to it at " +
                                                              peer->info.address + " has failed"}));
        else
            due_.watching = true;
    }
    for (const auto& [peer, why] : over)
        take_down(peer, why);
}

// `peer` is a copy: the caller's may belong to the connection that is dropped here.
void linked_endpoint::take_down(peer_ptr peer, const error& why) {
    const bool was_up = peers_.remove(peer);
    const auto unsent = peer->queue.clear(); // freed here, outside its lock
    if (peer->stream != nullptr) {
        {
            std::lock_guard worker{worker_lock_};
            collect(); // what has arrived comes before the end
        }
        streams_.end_link(peer);
    }
    if (peer->ucx != nullptr && peer->ucx->worker != nullptr) {
        std::lock_guard worker{worker_lock_};
        collect();
        links_.end_link(*peer);
        links_.retire();
    }
    if (why.code() != errc::cancelled && !is_closing())
        control_.say_given_up(*peer, why);
    control_.drop(*peer, why);
    if (was_up)
        reports_.add(
            [node = peer->info.node, why](endpoint_listener& l) { l.peer_down(node, why); });
}

// --- the end

void linked_endpoint::begin_closing() {
    close_by_ = options_.links.time->now() + options_.links.drain_timeout;
    control_.begin_closing();
    std::unique_lock worker{worker_lock_};
    for (const peer_ptr& peer : links_.all())
        if (!peers_.has(peer))
            links_.end_link(*peer);
    worker.unlock();
    for (const auto& [node, peer] : peers_)
        peer->queue.close();
}

// False when nothing is left to wait for.
bool linked_endpoint::continue_closing() {
    const time_point now = options_.links.time->now();
    const auto awaits_frames = [](const auto& entry) {
        return entry.second->stream != nullptr && !entry.second->stream->is_open();
    };
    if (std::ranges::none_of(peers_, awaits_frames))
        control_.stop_listening();
    std::vector<peer_ptr> failed;
    for (const auto& [node, peer] : peers_) {
        if (peer->stream != nullptr)
            streams_.flush(*peer); // is_drained() below may have kept a sender from it before
        std::lock_guard worker{worker_lock_};
        if (peer->has_failed || (peer->parting.frames_announced && peer->wired.is_told)) {
            failed.push_back(peer);
        } else if (!peer->parting.has_said_goodbye && peer->wired.is_told && peer->is_drained()) {
            peer->parting.has_said_goodbye = true;
            control_.say(*peer, goodbye_message{peer->frames_sent()});
        }
    }
    for (const peer_ptr& peer : failed)
        take_down(peer, peer->has_failed ? error{errc::lost, "its connection has failed"}
                                         : error{errc::cancelled, "both ends have closed"});
    return !peers_.empty() && now < *close_by_;
}

void linked_endpoint::abandon_everything() {
    while (!peers_.empty())
        take_down(peer_ptr{peers_.begin()->second},
                  error{errc::lost, "it has not answered the goodbye"});
    reports_.drop();
    std::lock_guard worker{worker_lock_};
    links_.abandon(options_.links.time->now() + abandon_time);
}

} // namespace troupe

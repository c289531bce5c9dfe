#include "transport/node/linked_endpoint.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {

namespace {

constexpr std::uint64_t wake_id = 1;
// Time for the control connection to report the reason.
constexpr duration failure_grace = std::chrono::milliseconds{200};

} // namespace

linked_endpoint::linked_endpoint(endpoint_options options, const socket_address& listen,
                                 std::unique_ptr<link_means> means)
    : options_{std::move(options)}, means_{std::move(means)}, links_{options_.links, poll_},
      streams_{options_.links, poll_}, control_{options_, listen, *means_, *this, poll_},
      pace_{options_.spin, options_.yield_max} {}

// --- any thread

result<void> linked_endpoint::start(endpoint_listener& listener) {
    TROUPE_CHECK(!reports_.has_listener(), "an endpoint is started once");
    if (!poll_ || !inbox_.is_open())
        return error{errc::io, "no file descriptors are left; raise the limit with ulimit -n"};
    if (const auto listening = control_.listen(); !listening)
        return listening;
    reports_.start(listener);
    poll_.watch(inbox_.descriptor(), wake_id);
    thread_ = std::thread{[this] { run(); }};
    return {};
}

void linked_endpoint::connect(const std::string& address) {
    inbox_.run([this, address] {
        if (!is_closing())
            control_.connect(address);
    });
}

send_status linked_endpoint::send(node_id node, frame_ptr f) {
    const peer_ptr peer = peers_.find(node);
    if (peer == nullptr)
        return send_status::gone;
    const auto measured = wire::measure(*f);
    if (!measured)
        return send_status::too_large;
    const auto queued = peer->queue.push(std::move(f), *measured);
    if (queued == send_queue::outcome::closed)
        return send_status::gone;
    if (queued == send_queue::outcome::overflow) {
        disconnect(
            node, error{errc::exhausted, "more than " + std::to_string(options_.bounds.bytes_hard) +
                                             " bytes are queued for node " + peer->info.name});
        return send_status::gone;
    }
    counters_.add_sent(payload_bytes(*measured));
    kick(peer);
    return queued == send_queue::outcome::congested ? send_status::congested
                                                    : send_status::accepted;
}

void linked_endpoint::kick(const peer_ptr& peer) {
    if (peer->stream != nullptr) {
        if (streams_.flush(*peer))
            inbox_.look();
        return;
    }
    std::unique_lock worker{worker_lock_, std::try_to_lock};
    if (!worker) {
        inbox_.flush(peer);
        return;
    }
    const bool is_done = !links_.sender().flush(peer) && !peer->is_writable;
    worker.unlock();
    if (!is_done)
        inbox_.look();
}

bool linked_endpoint::expect(node_id node, frame_place place) {
    const peer_ptr peer = peers_.find(node);
    return peer != nullptr && peer->places.add(std::move(place));
}

void linked_endpoint::forget(node_id node, actor_number actor) {
    if (const peer_ptr peer = peers_.find(node))
        peer->places.remove(actor);
}

std::uint64_t linked_endpoint::bytes_moved(node_id node) const {
    const peer_ptr peer = peers_.find(node);
    return peer != nullptr ? peer->bytes_moved() : 0;
}

void linked_endpoint::disconnect(node_id node, error why) {
    const peer_ptr peer = peers_.find(node);
    if (peer == nullptr)
        return;
    peer->queue.close();
    inbox_.run([this, peer, why = std::move(why)] { take_down(peer, why); });
}

void linked_endpoint::close() {
    std::lock_guard guard{close_lock_};
    if (!thread_.joinable())
        return;
    inbox_.run([this] { begin_closing(); });
    thread_.join();
}

// --- the progress thread

void linked_endpoint::run() {
    time_point now = options_.links.time->now();
    pace_.worked(now);
    while (!is_closing() || continue_closing()) {
        if (round(now)) {
            pace_.worked(now);
        } else if (pace_.keeps_polling(now)) {
            if (pace_.yield_is_due(now))
                let_others_run(now);
        } else {
            wait_for_events();
            pace_.worked(options_.links.time->now());
        }
        now = options_.links.time->now();
    }
    abandon_everything();
}

bool linked_endpoint::round(time_point now) {
    bool worked = run_commands();
    worked |= make_progress();
    if (pace_.sockets_are_due(now))
        poll_sockets(duration{});
    if (pace_.sign_of_life_is_due(now))
        say_alive(now);
    if (due_.wiring)
        say_wired();
    if (due_.watching)
        look_after_peers(now);
    // Once it closes, the listener is told nothing more.
    return (is_closing() ? reports_.drop() : reports_.deliver()) || worked;
}

void linked_endpoint::let_others_run(time_point now) {
    std::this_thread::yield();
    pace_.yielded(now, options_.links.time->now());
}

bool linked_endpoint::run_commands() {
    const auto asked = inbox_.take();
    if (!asked)
        return false;
    for (const auto& command : asked->commands)
        command();
    for (const peer_ptr& peer : asked->dirty) {
        peer->is_dirty = false;
        std::lock_guard worker{worker_lock_};
        links_.sender().flush(peer);
    }
    return true;
}

bool linked_endpoint::make_progress() {
    unsigned done = streams_.progress();
    bool has_changes = streams_.take_changes();
    auto failures = std::exchange(streams_.failures, {});
    {
        std::lock_guard worker{worker_lock_};
        done += links_.progress();
        collect();
        std::ranges::move(std::exchange(links_.receiver().failures, {}),
                          std::back_inserter(failures));
        has_changes |= links_.sender().take_writable();
        has_changes |= links_.take_failed();
        counters_.add_malformed(std::exchange(links_.receiver().unattributed, 0));
        if (links_.has_ended())
            links_.retire();
    }
    for (const auto& f : failures) {
        counters_.add_malformed(f.why.code() == errc::protocol ? 1 : 0);
        if (f.why.code() == errc::protocol && f.from->stream == nullptr && peers_.has(f.from))
            give_up_soon(*f.from, f.why);
        else
            take_down(f.from, f.why);
    }
    if (has_changes)
        notice_changes();
    return done > 0;
}

// Under the worker lock.
void linked_endpoint::collect() {
    for (auto* arrived : {&streams_.frames, &links_.receiver().frames}) {
        for (auto& [from, data] : *arrived) {
            counters_.add_received(data->bytes());
            from->bytes_received += data->bytes();
            reports_.add_frame(from->info.node, std::move(data));
        }
        arrived->clear();
    }
}

void linked_endpoint::notice_changes() {
    const time_point now = options_.links.time->now();
    for (const auto& [node, peer] : peers_) {
        if (peer->is_writable.exchange(false))
            reports_.add([n = node](endpoint_listener& l) { l.peer_writable(n); });
        if (peer->has_failed && !peer->parting.give_up_at) {
            peer->parting.give_up_at = now + failure_grace;
            due_.watching = true;
        }
    }
}

// A process that is killed while it writes to shared memory leaves half a message there: that its process is gone, which the
// control connection tells, is the better reason.
void linked_endpoint::give_up_soon(peer_state& peer, const error& why) {
    peer.parting.reason = why;
    peer.parting.give_up_at = options_.links.time->now() + failure_grace;
    due_.watching = true;
}

void linked_endpoint::poll_sockets(std::optional<duration> timeout) {
    const auto ready = poll_.wait(timeout);
    inbox_.wake();
    for (const std::uint64_t id : ready) {
        if (id == wake_id) {
            inbox_.clear_wake_up();
        } else if (id >= ucx_links::first_id) {
            std::lock_guard worker{worker_lock_};
            links_.on_ready(id);
        } else if (id >= stream_links::first_id) {
            streams_.on_ready(id);
        } else if (id >= control_plane::first_id) {
            control_.on_ready(id);
        }
    }
    const time_point now = options_.links.time->now();
    pace_.sockets_polled(now);
    control_.expire(now);
    counters_.set_refused(control_.refused());
}

void linked_endpoint::wait_for_events() {
    bool may_sleep = inbox_.fall_asleep();
    std::optional<duration> limit;
    if (may_sleep) {
        std::lock_guard worker{worker_lock_};
        may_sleep = links_.arm();
        limit = wait_limit();
    }
    if (may_sleep)
        poll_sockets(limit);
    else
        inbox_.wake();
}

// Under the worker lock.
std::optional<duration> linked_endpoint::wait_limit() const {
    sleep_reasons why;
    why.is_under_way = links_.is_under_way() || due_.wiring || is_closing() || due_.watching;
    if (streams_.is_sending())
        why.sign_of_life = progress_pace::alive_interval;
    if (links_.receiver().is_waiting_for_memory() || streams_.is_waiting_for_memory())
        why.retry = frame_receiver::retry_interval;
    if (const auto deadline = control_.next_deadline())
        why.time_left = *deadline - options_.links.time->now();
    return sleep_limit(why);
}

} // namespace troupe

#include "transport/ucx/ucx_node.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace troupe {

namespace {

constexpr std::uint64_t wake_id = 1;
constexpr std::uint64_t worker_id = 1ull << 63; // or-ed with its event descriptor
constexpr unsigned progress_burst = 16;
constexpr duration sockets_poll_interval = std::chrono::milliseconds{1};
constexpr duration alive_interval = std::chrono::milliseconds{500};
// Time for the control connection to report the reason.
constexpr duration failure_grace = std::chrono::milliseconds{200};

void watch_descriptor(int poll, int descriptor, std::uint64_t id) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = id;
    TROUPE_CHECK(epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &e) == 0,
                 "the descriptor is open and watched once");
}

} // namespace

ucx_node::ucx_node(ucx_options options, const socket_address& listen,
                   std::unique_ptr<ucx_means> means)
    : options_{std::move(options)}, listen_address_{listen}, poll_{epoll_create1(EPOLL_CLOEXEC)},
      wake_up_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)}, means_{std::move(means)},
      receiver_{options_}, control_{options_, *means_, *this, poll_.get()} {}

// --- any thread

result<void> ucx_node::start(endpoint_listener& listener) {
    TROUPE_CHECK(listener_ == nullptr, "an endpoint is started once");
    if (!poll_ || !wake_up_)
        return error{errc::io, "no file descriptors are left; raise the limit with ulimit -n"};
    if (const auto listening = control_.listen(listen_address_); !listening)
        return listening;
    listener_ = &listener;
    watch_descriptor(poll_.get(), wake_up_.get(), wake_id);
    thread_ = std::thread{[this] { run(); }};
    return {};
}

void ucx_node::connect(const std::string& address) {
    command([this, address] {
        if (!is_closing_)
            control_.connect(address);
    });
}

send_status ucx_node::send(node_id node, frame_ptr f) {
    const peer_ptr peer = find(node);
    if (peer == nullptr)
        return send_status::gone;
    const auto measured = wire::measure(*f);
    if (!measured)
        return send_status::too_large;
    const std::uint64_t bytes = measured->words * sizeof(capnp::word) + measured->tensor_bytes;
    bool is_congested = false;
    bool overflows = false;
    {
        std::lock_guard guard{peer->queue_lock};
        if (!peer->is_open)
            return send_status::gone;
        overflows = peer->window.overflows_with(bytes);
        if (!overflows) {
            is_congested = peer->window.add(bytes);
            peer->queue.push_back({std::move(f), *measured});
        }
    }
    if (overflows) {
        disconnect(
            node, error{errc::exhausted, "more than " + std::to_string(options_.bounds.bytes_hard) +
                                             " bytes are queued for node " + peer->info.name});
        return send_status::gone;
    }
    frames_sent_.fetch_add(1, std::memory_order_relaxed);
    bytes_sent_.fetch_add(bytes, std::memory_order_relaxed);
    kick(peer);
    return is_congested ? send_status::congested : send_status::accepted;
}

void ucx_node::kick(const peer_ptr& peer) {
    if (std::unique_lock worker{worker_lock_, std::try_to_lock}; worker) {
        const bool is_done = !sender_.flush(peer) && !peer->is_writable;
        worker.unlock();
        if (is_done)
            return;
    } else if (!peer->is_dirty.exchange(true)) {
        std::lock_guard guard{command_lock_};
        dirty_.push_back(peer);
    }
    has_commands_ = true;
    wake();
}

void ucx_node::disconnect(node_id node, error why) {
    const peer_ptr peer = find(node);
    if (peer == nullptr)
        return;
    {
        std::lock_guard guard{peer->queue_lock};
        peer->is_open = false;
    }
    command([this, peer, why = std::move(why)] { take_down(peer, why); });
}

void ucx_node::close() {
    std::lock_guard guard{close_lock_};
    if (!thread_.joinable())
        return;
    command([this] { begin_closing(); });
    thread_.join();
}

endpoint_statistics ucx_node::statistics() const {
    return {frames_sent_, frames_received_, bytes_sent_, bytes_received_, malformed_, refused_};
}

ucx_node::peer_ptr ucx_node::find(node_id node) const {
    std::lock_guard guard{table_lock_};
    const auto found = peers_.find(node);
    return found != peers_.end() ? found->second : nullptr;
}

void ucx_node::command(std::function<void()> what) {
    {
        std::lock_guard guard{command_lock_};
        commands_.push_back(std::move(what));
    }
    has_commands_ = true;
    wake();
}

void ucx_node::wake() {
    if (is_asleep_.exchange(false)) {
        const std::uint64_t one = 1;
        TROUPE_CHECK(write(wake_up_.get(), &one, sizeof one) == sizeof one,
                     "the counter of a wake-up has room");
    }
}

// --- the progress thread

void ucx_node::run() {
    time_point last_work = options_.time->now();
    while (!is_closing_ || continue_closing()) {
        const time_point now = options_.time->now();
        if (round(now)) {
            last_work = now;
        } else if (now - last_work < options_.spin && now >= polls_from_) {
            let_others_run();
        } else {
            wait_for_events();
            last_work = options_.time->now();
        }
    }
    abandon_everything();
}

bool ucx_node::round(time_point now) {
    bool worked = run_commands();
    worked |= make_progress();
    if (now - sockets_polled_at_ >= sockets_poll_interval)
        poll_sockets(duration{});
    if (now - said_alive_at_ >= alive_interval)
        say_alive(now);
    if (is_wiring_)
        say_wired();
    if (is_watching_)
        look_after_peers(now);
    return deliver() || worked;
}

bool ucx_node::run_commands() {
    if (!has_commands_.load(std::memory_order_relaxed) || !has_commands_.exchange(false))
        return false;
    std::vector<std::function<void()>> commands;
    std::vector<peer_ptr> dirty;
    {
        std::lock_guard guard{command_lock_};
        commands.swap(commands_);
        dirty.swap(dirty_);
    }
    for (const auto& c : commands)
        c();
    if (!dirty.empty()) {
        std::lock_guard worker{worker_lock_};
        for (const peer_ptr& peer : dirty) {
            peer->is_dirty = false;
            sender_.flush(peer);
        }
    }
    return true;
}

bool ucx_node::make_progress() {
    unsigned done = 0;
    bool has_writable = false;
    bool has_failed = false;
    std::vector<frame_receiver::failure> failures;
    {
        std::lock_guard worker{worker_lock_};
        for (unsigned spent = 0; spent < progress_burst;) {
            const auto [now_done, asked] = progress_links();
            done += now_done;
            spent += asked + 1;
            if (now_done == 0 && done > 0)
                break;
        }
        if (receiver_.is_waiting_for_memory())
            receiver_.retry();
        collect();
        failures.swap(receiver_.failures);
        has_writable = sender_.take_writable();
        has_failed = std::exchange(any_failed_, false);
        malformed_.fetch_add(std::exchange(receiver_.unattributed, 0), std::memory_order_relaxed);
        if (any_over_)
            retire_links();
    }
    for (const auto& f : failures) {
        malformed_.fetch_add(f.why.code() == errc::protocol ? 1 : 0, std::memory_order_relaxed);
        take_down(f.from, f.why);
    }
    if (has_writable || has_failed)
        notice_changes();
    return done > 0;
}

// Most of many peers are quiet, and polling all their workers takes longer than the transfer of a frame, so each round
// polls one of the quiet ones in turn. Before a sleep arm() finds the others, after it the event descriptors do. Under the
// worker lock.
ucx_node::links_progress ucx_node::progress_links() {
    links_progress all;
    const std::size_t turn = ++progress_round_ % std::max<std::size_t>(links_.size(), 1);
    for (std::size_t i = 0; i < links_.size(); ++i) {
        ucx_peer& peer = *links_[i];
        const bool is_quiet = peer.is_wired && peer.state != link_state::over &&
                              peer.in_flight == 0 && peer.transfers == 0 &&
                              progress_round_ - peer.busy_at > options_.busy_rounds;
        if (is_quiet && i != turn)
            continue;
        const unsigned now_done = peer.worker->progress();
        if (now_done > 0)
            peer.busy_at = progress_round_;
        all.done += now_done;
        ++all.asked;
    }
    return all;
}

void ucx_node::collect() {
    for (auto& [from, data] : receiver_.frames) {
        frames_received_.fetch_add(1, std::memory_order_relaxed);
        bytes_received_.fetch_add(data->bytes(), std::memory_order_relaxed);
        reports_.push_back({from->info.node, std::move(data), nullptr});
    }
    receiver_.frames.clear();
}

void ucx_node::notice_changes() {
    const time_point now = options_.time->now();
    for (const auto& [node, peer] : peers_) {
        if (peer->is_writable.exchange(false))
            reports_.push_back(
                {node, nullptr, [n = node](endpoint_listener& l) { l.peer_writable(n); }});
        std::lock_guard worker{worker_lock_};
        if (peer->has_failed && !peer->give_up_at) {
            peer->give_up_at = now + failure_grace;
            is_watching_ = true;
        }
    }
}

bool ucx_node::deliver() {
    if (reports_.empty())
        return false;
    std::vector<report> now;
    now.swap(reports_);
    for (report& r : now) {
        if (is_closing_)
            break;
        if (r.data != nullptr)
            listener_->frame_arrived(r.node, std::move(r.data));
        else
            r.call(*listener_);
    }
    if (reports_.empty()) { // keeps its capacity
        now.clear();
        reports_.swap(now);
    }
    return true;
}

void ucx_node::poll_sockets(std::optional<duration> timeout) {
    std::array<epoll_event, 64> ready;
    timespec limit{};
    if (timeout)
        limit = {timeout->count() / 1'000'000'000, timeout->count() % 1'000'000'000};
    const int count =
        epoll_pwait2(poll_.get(), ready.data(), ready.size(), timeout ? &limit : nullptr, nullptr);
    is_asleep_ = false;
    for (int i = 0; i < count; ++i) {
        const std::uint64_t id = ready[static_cast<std::size_t>(i)].data.u64;
        if (id == wake_id) {
            std::uint64_t wakes = 0;
            [[maybe_unused]] const ssize_t got = read(wake_up_.get(), &wakes, sizeof wakes);
        } else if (id >= worker_id) {
            note_ready(static_cast<int>(id - worker_id));
        } else if (id >= control_plane::first_id) {
            control_.on_ready(id);
        }
    }
    sockets_polled_at_ = options_.time->now();
    control_.expire(sockets_polled_at_);
    refused_ = control_.refused();
}

void ucx_node::watch(const ucx_worker& worker) {
    const int descriptor = worker.event_descriptor();
    watch_descriptor(poll_.get(), descriptor, worker_id + static_cast<std::uint64_t>(descriptor));
}

void ucx_node::forget(const ucx_worker& worker) {
    TROUPE_CHECK(epoll_ctl(poll_.get(), EPOLL_CTL_DEL, worker.event_descriptor(), nullptr) == 0,
                 "a worker is watched until it goes");
}

} // namespace troupe

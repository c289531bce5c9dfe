// The part of ucx_node.hpp for the progress thread's waits when there is nothing to do.
#include <algorithm>

#include "transport/ucx/ucx_node.hpp"

namespace troupe {

namespace {

// UCX may not signal all possible progress of a transfer under way.
constexpr duration in_flight_wait = std::chrono::microseconds{100};
// After a long yield polling pauses for this multiple of it: at most a hundredth of the time is lost.
constexpr int back_off_factor = 100;
constexpr duration back_off_max = std::chrono::seconds{1};

} // namespace

// A thread that shares the processor with this one may be the next sender, and gives it back soon. A computing thread keeps
// it for milliseconds: while there is one, this thread does not poll, as a sleeping thread is woken at once.
void ucx_node::let_others_run() {
    const time_point began = options_.time->now();
    std::this_thread::yield();
    const time_point ended = options_.time->now();
    if (ended - began > options_.yield_max)
        polls_from_ = ended + std::min(back_off_factor * (ended - began), back_off_max);
}

void ucx_node::wait_for_events() {
    is_asleep_ = true;
    bool may_sleep = !has_commands_;
    std::optional<duration> limit;
    if (may_sleep) {
        std::lock_guard worker{worker_lock_};
        may_sleep = arm();
        limit = wait_limit();
    }
    if (may_sleep)
        poll_sockets(limit);
    else
        is_asleep_ = false;
}

// No peer has this descriptor if the link has ended meanwhile.
void ucx_node::note_ready(int event_descriptor) {
    std::lock_guard worker{worker_lock_};
    for (const peer_ptr& peer : links_)
        if (peer->worker->event_descriptor() == event_descriptor)
            peer->busy_at = progress_round_;
}

// True if every worker's descriptor will signal new events. Under the worker lock.
bool ucx_node::arm() {
    for (const peer_ptr& peer : links_) {
        if (peer->state == link_state::over)
            continue; // the cause of its end may keep it busy forever
        const ucs_status_t status = peer->worker->arm();
        if (status == UCS_ERR_BUSY) {
            peer->busy_at = progress_round_;
            return false;
        }
        if (status != UCS_OK)
            peer->has_failed = any_failed_ = true;
    }
    return !any_failed_;
}

std::optional<duration> ucx_node::wait_limit() const {
    std::optional<duration> limit;
    const auto at_most = [&](duration d) { limit = std::min(limit.value_or(d), d); };
    if (sender_.in_flight() > 0 || receiver_.transfers() > 0 || any_over_ || is_wiring_ ||
        is_closing_ || is_watching_)
        at_most(in_flight_wait);
    if (receiver_.is_waiting_for_memory())
        at_most(frame_receiver::retry_interval);
    if (const auto deadline = control_.next_deadline()) {
        const duration left = *deadline - options_.time->now() + std::chrono::milliseconds{1};
        at_most(std::clamp<duration>(left, duration{}, std::chrono::seconds{1}));
    }
    return limit;
}

} // namespace troupe

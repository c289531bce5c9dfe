// The part of an actor's shell that decides when it may take messages: pauses, steps and parking.
//
// An actor that is held swallows its turn: it tells CAF that it waits for a message, and CAF forgets it, although its
// mailbox is not blocked, so no sender asks for a new turn. The caller that removes the last reason does so (kick).
// hold_ counts the reasons and remembers whether a turn was swallowed, in one word, so that exactly one caller asks.
#include <algorithm>

#include <caf/scheduler/abstract_coordinator.hpp>

#include "actors/runtime/actor_shell.hpp"
#include "actors/runtime/caf_order.hpp"

namespace troupe {

// A value of hold_ with which no turn is swallowed any more, because the actor must end.
static constexpr std::uint32_t unstoppable = ~0u;

// Messages that an actor takes before it looks again whether it is held. CAF's part of a turn costs about as much as a
// small handler, so this is not 1; a parked actor may go on sending while it handles this number of messages.
static constexpr std::size_t messages_per_look = 8;

caf::resumable::resume_result actor_shell::resume(caf::execution_unit* host,
                                                  std::size_t messages_max) {
    acquire_from_caf(this);
    ended_ns_ = 0;
    for (std::size_t n = 0; n < messages_max;) {
        const std::uint32_t held = hold_.load(std::memory_order_acquire);
        const bool stepping = held > 1 && held != unstoppable;
        if (stepping && swallow_turn())
            return awaiting_message;
        const std::size_t batch = stepping ? 1 : std::min(messages_max - n, messages_per_look);
        const auto outcome = caf::event_based_actor::resume(host, batch);
        if (outcome != resume_later)
            return outcome;
        n += batch;
    }
    return resume_later;
}

// True if this turn must not be used: the caller that releases the actor asks for a new one. False if it may be used,
// because the actor is free again or paused with steps left.
bool actor_shell::swallow_turn() {
    for (std::uint32_t held = hold_.load(std::memory_order_acquire);;) {
        const bool only_paused = held >> 1 == 1 && paused_.load(std::memory_order_relaxed);
        if (held <= 1 || held == unstoppable ||
            (only_paused && steps_.load(std::memory_order_acquire) > 0))
            return false;
        if (!hold_.compare_exchange_weak(held, held | 1, std::memory_order_acq_rel))
            continue;
        // add_steps may have been called in between without seeing that the turn is gone.
        if (!only_paused || steps_.load(std::memory_order_acquire) == 0)
            return true;
        held |= 1;
        if (!hold_.compare_exchange_strong(held, held & ~1u, std::memory_order_acq_rel))
            return true; // another caller took the turn back and has asked for a new one
        return false;
    }
}

void actor_shell::kick() {
    intrusive_ptr_add_ref(ctrl());
    home_system().scheduler().enqueue(this);
}

void actor_shell::hold() {
    std::uint32_t held = hold_.load(std::memory_order_relaxed);
    while (held != unstoppable &&
           !hold_.compare_exchange_weak(held, held + 2, std::memory_order_acq_rel)) {
    }
    release_to_caf(this);
}

void actor_shell::release() {
    std::uint32_t held = hold_.load(std::memory_order_relaxed);
    std::uint32_t next = 0;
    do {
        if (held == unstoppable)
            return;
        TROUPE_CHECK(held >= 2, "only what is held is released");
        next = held - 2;
        if (next == 1)
            next = 0; // the last reason is gone: the swallowed turn is given back
        // A paused actor that was parked as well may have steps to take now; it finds out in a turn.
        else if ((next & 1) != 0 && next >> 1 == 1)
            next &= ~1u;
    } while (!hold_.compare_exchange_weak(held, next, std::memory_order_acq_rel));
    if ((held & 1) != 0 && (next & 1) == 0)
        kick();
    release_to_caf(this);
}

void actor_shell::release_for_ever() {
    const std::uint32_t held = hold_.exchange(unstoppable, std::memory_order_acq_rel);
    if (held != unstoppable && (held & 1) != 0)
        kick();
    release_to_caf(this);
}

void actor_shell::set_paused(bool paused) {
    if (paused_.exchange(paused, std::memory_order_acq_rel) == paused)
        return;
    steps_.store(0, std::memory_order_relaxed);
    paused ? hold() : release();
}

bool actor_shell::add_steps(std::size_t messages) {
    if (!paused_.load(std::memory_order_acquire))
        return false;
    steps_.fetch_add(messages, std::memory_order_acq_rel);
    std::uint32_t held = hold_.load(std::memory_order_acquire);
    while (held != unstoppable && (held & 1) != 0) {
        if (hold_.compare_exchange_weak(held, held & ~1u, std::memory_order_acq_rel)) {
            kick();
            break;
        }
    }
    release_to_caf(this);
    return true;
}

void actor_shell::spend_step() {
    std::size_t steps = steps_.load(std::memory_order_relaxed);
    while (steps > 0 &&
           !steps_.compare_exchange_weak(steps, steps - 1, std::memory_order_relaxed)) {
    }
}

} // namespace troupe

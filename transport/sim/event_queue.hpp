// Virtual time: a queue of events in one thread. The simulated network, timers and device completions of a simulated
// cluster all wait in one event queue, which the owner of the simulation runs.
//
// Events run in order of (time, order of scheduling), so that the same schedule calls always give the same run. An action
// may schedule and cancel further events. Time advances only when an event runs.
//
// Threads: one. Errors: none; scheduling in the past means now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "schemas/base/time_source.hpp"

namespace troupe {

// Identifies a scheduled event; never reused after it has run or was cancelled.
struct event_id {
    time_point at;
    std::uint64_t number = 0; // counts schedule calls from 1; 0 is no event

    friend constexpr auto operator<=>(const event_id&, const event_id&) noexcept = default;
    constexpr explicit operator bool() const noexcept { return number != 0; }
};

class event_queue {
  public:
    using action = std::function<void()>;

    event_queue() = default;
    event_queue(const event_queue&) = delete;
    event_queue& operator=(const event_queue&) = delete;

    const time_source& time() const noexcept { return time_; }
    time_point now() const noexcept { return time_.now(); }

    event_id schedule_at(time_point at, action run);
    event_id schedule_after(duration delay, action run) {
        return schedule_at(now() + delay, std::move(run));
    }

    // False if the event has run, is running or was already cancelled.
    bool cancel(event_id id);

    bool empty() const noexcept { return events_.empty(); }
    std::size_t size() const noexcept { return events_.size(); }
    std::optional<time_point> next_time() const; // nullopt if nothing is scheduled

    // Advances time to the next event and runs it; false if there is none.
    bool run_next();
    // Runs all events due up to and including `until`, then advances time to it. Returns the number of events.
    std::size_t run_until(time_point until);
    std::size_t run_for(duration d) { return run_until(now() + d); }

  private:
    virtual_time time_;
    std::map<event_id, action> events_;
    std::uint64_t scheduled_total_ = 0;
};

} // namespace troupe

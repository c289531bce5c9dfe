// Timers, as an interface: real ones for a node, virtual ones for the simulator.
//
// Threads: after() and cancel() are thread-safe. A callback runs on a thread of the service, one
// callback at a time, and must only hand the news on (post a message); it may call after() and
// cancel().
#pragma once

#include <functional>
#include <memory>

#include "schemas/base/ids.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe {

using timer_id = id<struct timer_id_tag>; // never 0, never used twice by one service

class timer_service {
  public:
    virtual ~timer_service() = default;

    // Calls `callback` once, no earlier than `delay` from now. Timers that are due at the same time
    // fire in the order in which they were set.
    virtual timer_id after(duration delay, std::function<void()> callback) = 0;

    // True if the callback will not run any more. False: it has run, is running, or was cancelled
    // before.
    virtual bool cancel(timer_id timer) = 0;
};

// Timers on the machine's monotonic clock, with one thread of their own. Destruction drops timers
// that have not fired yet and waits for a callback that is running.
class thread_timers final : public timer_service {
  public:
    thread_timers();
    ~thread_timers() override;

    timer_id after(duration delay, std::function<void()> callback) override;
    bool cancel(timer_id timer) override;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace troupe

// The device work of one actor, and the actor's continuation of each piece of work.
//
//     work_queue queue_{*this, [this](const std::string&, const error& why) { quit(why); }};
//     ...
//     queue_.submit(*options_.compute, {.label = "forward",
//                                       .work = [made](compute_context& context) { ... },
//                                       .then = [this, made] { send_on(std::move(*made)); }});
//
// The result of the work is shared by both closures: the device writes it, then the actor reads it in `then`. A piece that
// has a label stands in the trace with its device time. `then` runs in the actor when the work has succeeded, in the order
// of submission on each device; `failed` runs instead when it has failed. Both may submit more.
//
// Threads: its actor's. Ownership: a member of the actor, made in its constructor; it handles the actor's WorkDone. The
// devices must outlive the actor's last submission.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "kernels/device/device.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/ids.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe {

class actor;
class frame;

class work_queue {
  public:
    struct piece {
        std::string label;           // label in the trace; empty: the work is not traced
        work_id number{none};        // of the piece of work, in the trace; as in an envelope
        state_version version{none}; // version in the trace
        double cost = 0;             // see device_task::cost_hint
        task_priority priority = task_priority::usual;
        device_work work;
        std::function<void()> then;
        std::function<void(const error&)> failed = {}; // if given, called in place of the queue's
    };
    using failure_handler = std::function<void(const std::string& label, const error& why)>;

    // Without `failed`, every piece must have its own.
    explicit work_queue(actor& owner, failure_handler failed = nullptr);
    work_queue(const work_queue&) = delete;
    work_queue& operator=(const work_queue&) = delete;

    void submit(device& on, piece p);

    bool is_idle() const noexcept { return pending_.empty(); }
    // The device time of the piece of work whose `then` is running.
    duration busy() const noexcept { return busy_; }
    // Submitted work is still computed, but neither `then` nor `failed` is called.
    void forget();

  private:
    struct pending {
        std::uint64_t ticket = 0;
        device* on = nullptr;
        piece submitted;
        bool forgotten = false;
    };
    void done(const frame& f);

    actor& owner_;
    failure_handler failed_;
    std::deque<pending> pending_; // in the order of submission
    std::uint64_t ticket_ = 0;
    duration busy_{};
};

} // namespace troupe

// The messages and the device work of one piece of work of a run of any kind of job, put together from the traces of all
// nodes: a counter's round, a scheduler's phase, and also a minibatch, of which minibatch_path knows more.
//
// Pure. Times are nanoseconds on the observer's clock.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/inspector/minibatch_work.hpp"

namespace troupe::inspector {

struct work_step {
    trace_kind kind = trace_kind::message;
    std::string what;           // type of the message, or name of the device work
    actor_address from;         // device work: the same as `to`
    actor_address to;           // receiver, or the actor that the device worked for
    std::int64_t begins_ns = 0; // when the message was sent, or the device work began
    // Messages: from the send to the receiver's mailbox, and in that.
    std::optional<std::int64_t> wire_ns, queue_ns;
    std::int64_t run_ns = 0; // in the handler, or on the device
    std::uint64_t bytes = 0; // messages: words and tensors
};

struct work_path {
    std::uint64_t work = 0;
    std::uint64_t run = 0;              // 0: no run has such a piece of work
    std::vector<work_step> steps;       // by begins_ns
    std::int64_t total_ns = 0;          // from the first begin to the last end
    std::set<std::uint64_t> other_runs; // that have one of this number, too
};

// The steps of the latest run that has such a piece of work, or of `run` if that is not 0. Events may stand in `traces` more
// than once, and may be of other pieces of work.
work_path follow_work(std::uint64_t work, std::uint64_t run, const std::vector<node_trace>& traces,
                      const all_names& names);

// The oldest and the newest piece of work of each run among the events that have been added. Runs count alike, so that
// numbers of different runs say nothing of each other.
class work_ranges {
  public:
    struct range {
        std::uint64_t oldest = 0;
        std::uint64_t newest = 0;
    };

    void add(const std::vector<trace_event>& events);

    const std::map<std::uint64_t, range>& by_run() const noexcept { return by_run_; }
    // None if the run has none.
    std::optional<std::uint64_t> newest_of(std::uint64_t run) const;

  private:
    std::map<std::uint64_t, range> by_run_;
};

} // namespace troupe::inspector

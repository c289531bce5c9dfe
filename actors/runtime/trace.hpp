// The trace of a node: the latest actions of its actors, always recorded.
//
// Every handled message and every piece of recorded device work is one event in a bounded ring.
// Writers never wait for readers: a reader that is too slow loses the oldest events and is told how
// many. Readers keep their own place (a cursor), so any number of them may read, none disturbs
// another, and nothing is kept for them.
//
// Threads: all methods are thread-safe. record() is lock-free.
// Units: nanoseconds on the node's clock, except sent_ns, which is on the sending node's clock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "schemas/base/ids.hpp"

namespace troupe {

enum class trace_kind : std::uint64_t {
    message, // an actor handled a message
    compute, // a device worked
};

struct trace_event {
    trace_kind kind = trace_kind::message;
    std::uint64_t type =
        0;             // message: Cap'n Proto type id of the body; compute: number of the label
    node_id from_node; // message: (from_node, sequence) names the message
    actor_number from_actor;
    actor_number to_actor;      // compute: the actor that submitted the work
    std::uint64_t sequence = 0; // compute: number of the message whose handler submitted the work
    std::uint64_t cause = 0;    // sequence of the message whose handler sent this one
    node_id cause_node;         // the node that gave `cause` its number
    std::uint64_t trace_id = 0;
    work_id work{none};
    state_version state{none};
    std::uint64_t bytes = 0; // message: size of words and tensors; compute: memory of the device
    std::uint64_t run = 0;   // 0: no run
    std::int64_t sent_ns = 0;
    std::int64_t enqueued_ns = 0;
    std::int64_t started_ns = 0;
    std::int64_t ended_ns = 0;

    friend bool operator==(const trace_event&, const trace_event&) noexcept = default;
};

// A stretch of the trace as one reader got it.
struct trace_batch {
    std::vector<trace_event> events;
    std::uint64_t next = 0; // the cursor to read from next
    std::uint64_t lost =
        0; // number of overwritten events between the requested cursor and the first one here
};

class trace_ring {
  public:
    // `capacity` events, rounded up to a power of two.
    explicit trace_ring(std::size_t capacity);

    void record(const trace_event& event) noexcept;

    // Returns at most `max` events from `cursor` on (0: the oldest event). Events that are being written
    // at this moment are left for the next read.
    trace_batch read(std::uint64_t cursor, std::size_t max) const;

    std::uint64_t
    recorded() const noexcept; // events since the start; also the cursor of the next event
    std::size_t capacity() const noexcept { return mask_ + 1; }

    // Names for device work. The same text gives the same number; at most `labels_max` different
    // ones, further ones share the number of "other".
    std::uint64_t label(const std::string& text);
    std::vector<std::string> labels() const; // by number

    // Names of the latest `actors_max` actors. They are kept when an actor ends, since its events are still here.
    void name_actor(actor_number number, const std::string& name);
    std::map<actor_number, std::string> actor_names() const;

    static constexpr std::size_t labels_max = 4096;
    static constexpr std::size_t actors_max = 4096;

  private:
    static constexpr std::size_t words = sizeof(trace_event) / sizeof(std::uint64_t);

    // An event as words, so that a reader may copy it while a writer overwrites it and notice
    // afterwards: `state` is 2 * position + 2 when the event at `position` is complete and odd
    // while a writer is at it.
    // Both are plain words that are accessed by std::atomic_ref alone: memory of zeros is an empty
    // ring, and the system gives it as events come. A node that records few takes few pages.
    struct slot {
        std::uint64_t state;
        std::array<std::uint64_t, words> content;
    };
    struct free_slots {
        void operator()(slot* slots) const noexcept { std::free(slots); }
    };
    using slot_memory = std::unique_ptr<slot[], free_slots>;
    static slot_memory make_slots(std::size_t count);

    std::size_t mask_;
    slot_memory slots_;
    alignas(64) std::atomic<std::uint64_t> next_{0};

    mutable std::mutex names_lock_;
    std::vector<std::string> labels_;            // guarded by names_lock_
    std::map<actor_number, std::string> actors_; // guarded by names_lock_
};

} // namespace troupe

// The phases that a scheduler has given out since the last commit, so that a worker that takes the place of a lost one can
// replay them: which the log still has, and which are to be sent to such a worker next. A pure value: the scheduler turns
// messages into calls on it.
//
//     if (!log.begin_replay(1, 400))                       // worker 1 is as it was at phase 400
//         ...                                              // all have to go back
//     log.release_replays();                               // when all schedulers know the worker
//     while (const logged_phase* p = log.next(1))
//         ...                                              // send it; once more when the worker has answered some
//
// Tensors are those that were sent, held by reference. The log is bounded: beyond its limits it forgets the oldest phases,
// and whoever needs them cannot replay. It forgets nothing that a replay under way has yet to send; no more phases than a
// window allows are chosen meanwhile.
//
// Threads, ownership: a value of one scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "actors/scheduled/phase_ledger.hpp"

namespace troupe::scheduled {

// A worker that replays is sent phases up to this many beyond the last own one that it has answered (scheduled.capnp).
inline constexpr std::uint64_t replay_ahead = 64;
static_assert(replay_ahead >= schedulers_max,
              "own phases are so far apart: the next one must be sent");
static_assert(replay_ahead >= window_max,
              "who replays must not compute fewer at a time than all others");

struct logged_phase {
    phase sent;
    phase_mark mark = phase_mark::none;
    payload due; // the deltas that were sent with it

    // About what it takes: the buffers of its tensors, of which a pool gives none below some size, and what it and each of
    // them takes besides. (Of the Lasso on Fashion-MNIST, sets of 8, with 9 tensors a phase, 18,100 and 18,700 phases more
    // in the log took 68.5 and 70.1 MiB, 3.9 kB each; this counts 3.7 kB.)
    std::uint64_t bytes() const noexcept;
    static constexpr std::uint64_t bytes_of_phase = 256;
    static constexpr std::uint64_t bytes_of_tensor = 128;
    static constexpr std::uint64_t bytes_of_buffer_min = 256;
};

struct log_limits {
    std::uint64_t phases = 1u << 16;
    std::uint64_t bytes = ~std::uint64_t{0}; // logged_phase::bytes
};

class phase_log {
  public:
    phase_log() = default;
    explicit phase_log(log_limits limits, std::uint64_t first_phase = 0)
        : limits_{limits}, first_{first_phase} {}

    void add(logged_phase given_out); // in order
    // All have saved what they are at this phase: nobody goes back behind it.
    void committed(std::uint64_t number);

    // The worker is as it was at phase `from`; it is sent nothing before release_replays. False if the log does not have all
    // phases from there on: nothing has changed.
    bool begin_replay(std::uint32_t worker, std::uint64_t from);
    void release_replays();
    // The phase that is to be sent to the worker next, which then counts as sent. Null if it has to answer others first, or
    // has been sent all; in the latter case it is told of further phases as every worker is.
    const logged_phase* next(std::uint32_t worker);
    // It has computed or passed this phase, which is one of this scheduler's. False if it replays and has not been sent the
    // phase: nothing has changed.
    bool answered(std::uint32_t worker, std::uint64_t number);
    bool replays(std::uint32_t worker) const { return replays_.contains(worker); }

    std::uint64_t size() const noexcept { return phases_.size(); }
    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t phases_since(std::uint64_t number) const noexcept; // that it has

  private:
    struct replay {
        std::uint64_t next = 0; // phases below it have been sent
        std::uint64_t done = 0; // and below this answered
        bool is_held = true;    // until it is released
    };

    void forget_below(std::uint64_t number);
    std::uint64_t oldest_replay(std::uint64_t otherwise) const noexcept;

    log_limits limits_;
    std::uint64_t first_ = 0; // it has all own phases from here on
    std::deque<logged_phase> phases_;
    std::uint64_t bytes_ = 0;
    std::uint64_t committed_ = 0;
    std::map<std::uint32_t, replay> replays_; // by worker
};

} // namespace troupe::scheduled

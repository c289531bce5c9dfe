// Requests of other threads to the progress thread, and how they wake it from its sleep.
//
// Why no wake-up is lost: who asks stores has_work_, then exchanges is_asleep_; the progress thread stores is_asleep_, then
// loads has_work_. All of these are sequentially consistent, so at least one of the two sees the other's. The progress
// thread clears a peer's is_dirty before it flushes the peer's queue, and queue_lock orders push against flush, so a frame
// pushed too late for one flush asks for another.
//
// Threads: any for what asks; the progress thread for the rest. The lock is taken alone; no command runs under it.
// Ownership: of what waits, until it is taken. Errors: none; a process without descriptors left is seen by is_open.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/tcp/socket.hpp"

namespace troupe {

struct peer_state;

class progress_inbox {
  public:
    using command = std::function<void()>;
    using peer_ptr = std::shared_ptr<peer_state>;

    struct contents {
        std::vector<command> commands; // in the order in which they were asked for
        std::vector<peer_ptr> dirty;   // peers whose queues are to be flushed
    };

    progress_inbox();
    progress_inbox(const progress_inbox&) = delete;
    progress_inbox& operator=(const progress_inbox&) = delete;

    bool is_open() const noexcept { return static_cast<bool>(wake_up_); }

    // -- any thread --
    void run(command what);
    void flush(const peer_ptr& peer);
    // Asks for a round, as there is something new to see.
    void look() {
        has_work_ = true;
        if (is_asleep_.exchange(false))
            ring();
    }

    // -- the progress thread --
    // Readable once somebody has asked for something during a sleep, until clear_wake_up.
    int descriptor() const noexcept { return wake_up_.get(); }
    void clear_wake_up();
    // To be called before a sleep; false if there is something to do first. wake() follows in any case.
    bool fall_asleep() {
        is_asleep_ = true;
        return !has_work_;
    }
    void wake() { is_asleep_ = false; }
    // None if nobody has asked for anything since.
    std::optional<contents> take() {
        if (!has_work_.load(std::memory_order_relaxed) || !has_work_.exchange(false))
            return std::nullopt;
        return take_all();
    }

  private:
    void ring();
    contents take_all();

    file_descriptor wake_up_;
    std::mutex lock_;
    contents waiting_; // guarded by lock_
    std::atomic<bool> has_work_{false};
    std::atomic<bool> is_asleep_{false};
};

} // namespace troupe

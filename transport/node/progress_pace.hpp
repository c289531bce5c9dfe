// When the progress thread does what: polls the sockets, says that it is alive, goes on polling or sleeps, and for how long.
// Values and decisions about times alone; the caller reads the time.
//
// Threads: the progress thread.
#pragma once

#include <algorithm>
#include <optional>

#include "schemas/base/time_source.hpp"

namespace troupe {

class progress_pace {
  public:
    static constexpr duration alive_interval = std::chrono::milliseconds{500};

    // It polls for `spin` after its last work. A yield longer than yield_max has met a thread that computes.
    progress_pace(duration spin, duration yield_max) : spin_{spin}, yield_max_{yield_max} {}

    bool sockets_are_due(time_point now) const noexcept {
        return now - sockets_polled_at_ >= sockets_interval;
    }
    void sockets_polled(time_point now) noexcept { sockets_polled_at_ = now; }

    bool sign_of_life_is_due(time_point now) const noexcept {
        return now - said_alive_at_ >= alive_interval;
    }
    void said_alive(time_point now) noexcept { said_alive_at_ = now; }

    // True if it polls again after a round without work; else it sleeps.
    bool keeps_polling(time_point now) const noexcept {
        return now - worked_at_ < spin_ && now >= polls_from_;
    }
    void worked(time_point now) noexcept { worked_at_ = now; }
    // A yield takes as long as several looks for news, so not every look is followed by one.
    bool yield_is_due(time_point now) const noexcept { return now - yielded_at_ >= yield_interval; }
    // A thread that shares the processor with this one may be the next sender, and gives it back soon. A computing thread
    // keeps it for milliseconds: while there is one, this thread does not poll, as a sleeping thread is woken at once.
    void yielded(time_point began, time_point ended) noexcept {
        yielded_at_ = ended;
        if (ended - began > yield_max_)
            polls_from_ = ended + std::min(back_off_factor * (ended - began), back_off_max);
    }

  private:
    static constexpr duration sockets_interval = std::chrono::milliseconds{1};
    static constexpr duration yield_interval = std::chrono::microseconds{1};
    // After a long yield polling pauses for this multiple of it: at most a hundredth of the time is lost.
    static constexpr int back_off_factor = 100;
    static constexpr duration back_off_max = std::chrono::seconds{1};

    const duration spin_;
    const duration yield_max_;
    time_point worked_at_;
    time_point polls_from_; // before this time it sleeps when idle
    time_point yielded_at_;
    time_point sockets_polled_at_;
    time_point said_alive_at_;
};

// Work that the progress thread still has to see to when it falls asleep.
struct sleep_reasons {
    bool is_under_way =
        false; // a transfer, a connection, an end: UCX need not signal all possible progress
    std::optional<duration>
        sign_of_life; // frames are under way: it is said that often that this node lives
    std::optional<duration> retry;     // memory is awaited, and asked for again after this time
    std::optional<duration> time_left; // to the next deadline of a control connection
};

// The longest sleep; none: until an event.
inline std::optional<duration> sleep_limit(const sleep_reasons& why) noexcept {
    std::optional<duration> limit;
    const auto at_most = [&](duration d) { limit = std::min(limit.value_or(d), d); };
    if (why.is_under_way)
        at_most(std::chrono::microseconds{100});
    if (why.sign_of_life)
        at_most(*why.sign_of_life);
    if (why.retry)
        at_most(*why.retry);
    if (why.time_left)
        at_most(std::clamp<duration>(*why.time_left + std::chrono::milliseconds{1}, duration{},
                                     std::chrono::seconds{1}));
    return limit;
}

} // namespace troupe

// Failed writes of a run: whether one is said, and when what the run ends with is tried again.
//
// A write that fails while a run goes on is a note, and the next one is tried as if nothing had been. What a run ends with
// is kept in memory and tried again, ever more seldom and in all for about a day: long enough for somebody to find a full
// disk in the morning, and not for ever, as the process holds its memory.
//
// Threads: a pure value. The sentences are pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/base/error.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe {

// Whether an error is one of writing that room, permission or another disk would mend. Other errors end the run.
inline bool may_be_written_later(const error& why) {
    return why.code() == errc::io;
}

class unwritten {
  public:
    // A write has failed, while the run goes on. Returns whether it is to be said: it is the first, 2nd, 4th, 8th... in
    // succession, so that a full disk does not fill the log of a run of days.
    bool fail() noexcept;
    // Returns how many writes before this one have failed in succession.
    std::uint64_t succeed() noexcept;

    // An attempt to write what the run ends with has failed. Returns the time until the next one; none: the run gives up.
    std::optional<duration> keep(const error& why);
    // Whether the run is over but for what it keeps; the reason of the last attempt.
    bool is_kept() const noexcept { return !reason_.empty(); }
    const std::string& reason() const noexcept { return reason_; }

  private:
    std::uint64_t failures_ = 0;
    std::uint64_t waits_ = 0;
    duration waited_{};
    std::string reason_;
};

// The note of a run that goes on: "a checkpoint is not written: FILE: ...; the run goes on, ONWARD".
std::string goes_on_unwritten(const std::string& what, const error& why, const std::string& onward);
// Checkpoints that a newer one has replaced are still there.
std::string older_stay(const error& why);
// The end of that note for a checkpoint; `last`: the one before it, empty if there is none.
std::string next_is_tried(const std::string& last);
// "checkpoints are written again; 3 before this one were not". `what`: "checkpoints".
std::string written_again(const std::string& what, std::uint64_t failures);
// The run is over and keeps `what` ("the last checkpoint").
std::string kept_unwritten(const std::string& what, const error& why);
std::string written_after_all(const std::string& what);
// `what` is given up after the last attempt. `onward`: "; ...", what is left.
error given_up_unwritten(const std::string& what, const error& why, const std::string& onward);
// `what` is given up by a stop signal, with the reason of the last attempt.
error stopped_unwritten(const std::string& what, const std::string& reason,
                        const std::string& onward);

} // namespace troupe

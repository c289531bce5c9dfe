#include "actors/run/unwritten.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe {

namespace {

constexpr duration first_wait = std::chrono::seconds{1};
constexpr duration longest_wait = std::chrono::minutes{1};
constexpr duration waits_in_all = std::chrono::hours{24};
constexpr std::uint64_t doublings_max = 6; // of the first wait, to the longest

} // namespace

bool unwritten::fail() noexcept {
    return std::has_single_bit(++failures_);
}

std::uint64_t unwritten::succeed() noexcept {
    return std::exchange(failures_, 0);
}

std::optional<duration> unwritten::keep(const error& why) {
    if (!is_kept())
        failures_ = 0; // of other writes
    reason_ = why.message();
    const duration next =
        std::min(first_wait * (1u << std::min(waits_, doublings_max)), longest_wait);
    if (waited_ + next > waits_in_all)
        return std::nullopt;
    ++waits_;
    waited_ += next;
    return next;
}

std::string goes_on_unwritten(const std::string& what, const error& why,
                              const std::string& onward) {
    return what + " is not written: " + why.message() + "; the run goes on, " + onward;
}

std::string older_stay(const error& why) {
    return "older checkpoints stay, and take room: " + why.message();
}

std::string next_is_tried(const std::string& last) {
    return (last.empty() ? std::string{"none is saved yet"} : "the last good one is " + last) +
           ", and the next one is tried when it is due";
}

std::string written_again(const std::string& what, std::uint64_t failures) {
    return what + " are written again; " + std::to_string(failures) + " before this one " +
           (failures == 1 ? "was" : "were") + " not";
}

std::string kept_unwritten(const std::string& what, const error& why) {
    return what + " cannot be written: " + why.message() +
           "; the run is over, keeps it in memory and writes it once that is mended: it tries "
           "again "
           "for 24 hours, at last once a minute, and follows a symbolic link in the place of the "
           "folder; Ctrl-C gives it up";
}

std::string written_after_all(const std::string& what) {
    return "written after all: " + what;
}

error given_up_unwritten(const std::string& what, const error& why, const std::string& onward) {
    return {why.code(), what + " could not be written, and is given up: " + why.message() + onward};
}

error stopped_unwritten(const std::string& what, const std::string& reason,
                        const std::string& onward) {
    return {errc::cancelled, "stopped while " + what + " could not be written: " + reason + onward};
}

} // namespace troupe

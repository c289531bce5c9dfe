// The lines that a node logs of connections that it refuses: the first from an address for a reason at once, and of those in
// the minute after it the number, so that no crowd fills the log. A plain value: the caller passes the time and says the
// sentences.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/base/time_source.hpp"

namespace troupe {

class refusal_log {
  public:
    // Addresses, each with a reason, in one minute, and reasons of one address; all others are counted together.
    static constexpr std::size_t told_max = 16;
    static constexpr std::ptrdiff_t reasons_max = 2;
    static constexpr duration interval = std::chrono::minutes{1};

    // A connection from this host has been refused. A sentence if it is the first for a minute; `who` is what the other side
    // calls itself, empty if it has not said so.
    std::optional<std::string> refused(const std::string& host, const std::string& who,
                                       const std::string& why, time_point now);

    // The sentences on those that were refused after a first one, once their minute is over.
    std::vector<std::string> due(time_point now);
    std::optional<time_point> next_due() const; // none: nothing has been refused

  private:
    struct count {
        time_point until;
        std::uint64_t more = 0;
    };
    using origin = std::pair<std::string, std::string>; // host, reason

    std::map<origin, count> told_;
    std::optional<count> others_;
    origin last_other_;
};

} // namespace troupe

// The common part of the views that follow one piece of work (follow_view.cpp, work_view.cpp): how often they look, and when
// they give up.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "schemas/base/error.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe::inspector {

inline constexpr duration follow_poll = std::chrono::milliseconds{50};
// Multiple of inspect_options::patience: a piece of work may take longer than an answer.
inline constexpr int follow_patience_factor = 6;
// Pieces of work that a run is at, at a time: no more comes of one that it has left so far behind.
inline constexpr std::uint64_t in_flight_max = 64;
inline constexpr std::size_t followed_events_max = 1u << 20; // of one piece of work on one node

inline error nothing_to_show(std::string sentence) {
    return {errc::data, std::move(sentence)};
}

} // namespace troupe::inspector

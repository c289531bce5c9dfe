// The turns of several stages on one device: their passes run in the order of the schedule's table, one at a time.
// Updates, and what replicas exchange, are not in that order.
//
// Each stage announces its next pass as its own order says it, steps without work passed over; the stage with the earliest
// announced pass has the turn. A stage whose epoch has not begun announces the first pass of that epoch, so that none
// overtakes it.
//
// Threads: any; shared by the stages of one run on one device. Ownership: with its last stage.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>

#include "actors/runtime/actor.hpp"

namespace troupe {

class device_turns {
  public:
    struct pass {
        std::uint64_t epoch = 0;
        std::uint64_t round = 0; // stage_order::pass_place
        std::uint32_t place = 0; // among the device's steps

        friend auto operator<=>(const pass&, const pass&) = default;
    };

    // The next pass of a stage. Posts TurnCame to the stage that has the turn by this, unless that is the announcing one.
    void announce(std::uint32_t stage, const pass& next, const self_handle& handle);
    bool has_turn(std::uint32_t stage) const; // which has announced a pass
    // The stage has ended. Posts TurnCame to the one that has the turn now.
    void leave(std::uint32_t stage);

  private:
    struct entry {
        pass next;
        self_handle handle;
    };
    std::uint32_t first() const; // of the entries, of which there is one at least

    mutable std::mutex lock_;
    std::map<std::uint32_t, entry> entries_; // by stage
};

} // namespace troupe

// The next step of a stage in an epoch, chosen between its schedule's next instruction and the
// demands of its replicas' agreement. Pure, so that every schedule can be tried with every agreement
// without an actor.
#pragma once

#include <cstdint>
#include <optional>

#include "actors/pipeline/shape/stage_order.hpp"

namespace troupe {

// The action that the agreement of a stage's replicas demands before the stage goes on.
enum class demand : std::uint8_t {
    nothing,
    wait, // for an answer
    act,  // agreement::act()
};

struct stage_situation {
    demand before = demand::nothing; // before the next pass
    std::optional<instruction> next; // the schedule's next instruction
    bool data_ended = false;
    bool lacks_updates = false;      // other replicas make more of them in this epoch
    demand at_end = demand::nothing; // at the end of the epoch, after the last instruction
};

enum class step : std::uint8_t {
    wait,       // for a message
    agree,      // the agreement acts
    pass,       // the schedule's next instruction
    skip,       // an update without gradients of this replica's own
    agree_last, // the agreement acts at the end of the epoch
    finish,     // the epoch is over
};

constexpr step next_step(const stage_situation& s) noexcept {
    if (s.before != demand::nothing)
        return s.before == demand::wait ? step::wait : step::agree;
    if (s.next)
        return step::pass;
    if (!s.data_ended)
        return step::wait;
    if (s.lacks_updates)
        return step::skip;
    if (s.at_end != demand::nothing)
        return s.at_end == demand::wait ? step::wait : step::agree_last;
    return step::finish;
}

} // namespace troupe

#include "actors/runtime/arrival_unit.hpp"

#include <caf/actor_system.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

namespace troupe {

namespace {

constexpr unsigned runs_max = 8;
constexpr std::size_t messages_max = 8; // of one actor

} // namespace

void arrival_unit::run() {
    for (unsigned runs = 0; !woken_.empty(); ++runs) {
        caf::resumable* const actor = woken_.front();
        woken_.pop_front();
        const bool is_mine = runs < runs_max;
        const auto left =
            is_mine ? actor->resume(this, messages_max) : caf::resumable::resume_later;
        if (left == caf::resumable::resume_later)
            system().scheduler().enqueue(actor);
        else
            caf::intrusive_ptr_release(actor);
    }
}

} // namespace troupe

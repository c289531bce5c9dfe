#include "actors/runtime/arrival_unit.hpp"

#include <caf/actor_system.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include "actors/runtime/actor_shell.hpp"
#include "actors/runtime/caf_order.hpp"

namespace troupe {

namespace {

constexpr unsigned runs_max = 8;
constexpr std::size_t messages_max = 8; // bound on the messages of one actor

} // namespace

void arrival_unit::run() {
    for (unsigned runs = 0; !woken_.empty(); ++runs) {
        caf::resumable* const woken = woken_.front();
        woken_.pop_front();
        const bool is_mine = runs < runs_max;
        const auto left =
            is_mine ? woken->resume(this, messages_max) : caf::resumable::resume_later;
        if (left == caf::resumable::resume_later) {
            system().scheduler().enqueue(woken);
            continue;
        }
        // The holder of the last reference destroys it, so none of it may be read here any more, not even its virtual table.
        auto* const mine = static_cast<actor_shell*>(woken); // only its deliver() wakes actors
        caf::actor_control_block* const control = mine->ctrl();
        release_to_caf(mine);
        caf::intrusive_ptr_release(control);
    }
}

} // namespace troupe

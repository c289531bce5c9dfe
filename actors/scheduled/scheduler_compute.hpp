// How a scheduler has its part compute. Part of scheduler_actor.
#pragma once

#include <chrono>

#include "actors/scheduled/part_call.hpp"
#include "actors/scheduled/scheduler_actor.hpp"

namespace troupe::scheduled {

// More than handing work to a device and its completion back takes.
inline constexpr duration time_in_handler_max = std::chrono::milliseconds{1};

// Work on a few numbers is done in the handler, as handing it to a device would take longer; but not where it took long the
// last time, or has never been done: a handler that computes for seconds silences the node.
template <class T>
void scheduler_actor::compute(step::kind kind, std::uint64_t number, bool is_small,
                              std::function<result<T>()> work, std::function<void(T&)> then) {
    static constexpr const char* labels[] = {"",     "schedule", "save",  "end",
                                             "pull", "absorb",   "judge", "conclude"};
    const char* const name = kind == step::stop ? "save" : labels[kind]; // what it calls
    duration& last_took = last_took_.at(kind);
    if (is_small && last_took <= time_in_handler_max) {
        const time_point began = now();
        auto value = call_part(name, number, work);
        last_took = now() - began;
        if (!value) {
            course_ = course::ended;
            return quit(value.failure());
        }
        return then(*value);
    }
    course_ = course::busy;
    const auto made = std::make_shared<std::optional<T>>();
    work_.submit(*options_.compute, {.label = labels[kind],
                                     .number = work_id{number},
                                     .version = state_version{ledger_.folded()},
                                     .work = [made, name, number, work = std::move(work)](
                                                 compute_context&) -> result<void> {
                                         auto value = call_part(name, number, work);
                                         if (!value)
                                             return value.failure();
                                         *made = std::move(*value);
                                         return {};
                                     },
                                     .then =
                                         [this, kind, made, then = std::move(then)] {
                                             course_ = course::idle;
                                             last_took_.at(kind) = work_.busy();
                                             then(**made);
                                             go_on();
                                         }});
}

} // namespace troupe::scheduled

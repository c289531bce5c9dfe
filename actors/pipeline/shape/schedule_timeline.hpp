// Times of a table: when each step of an epoch begins and ends, and the pace of a long epoch. Pure, in exact fractions; by
// discrete events, see schedule_course.hpp.
#pragma once

#include "actors/pipeline/shape/fraction.hpp"
#include "actors/pipeline/shape/schedule_course.hpp"

namespace troupe {

// The times of a stage that has a device for itself, in any unit: forward, and backward by its two halves. A device with
// several stages (of one replica) has as much work: each of these takes so much less time.
struct pass_times {
    fraction forward = 1;
    fraction backward_input = 1;
    fraction backward_weight = 1;
};

struct timeline_options {
    std::vector<pass_times>
        stages;       // of whole stages; one for all, or one for each stage of a replica
    fraction hop = 0; // from a device to another, the same unit
    bool updates_wait_for_all = false; // see course_times
};

// Ticks of equal length, so that all times are whole.
struct tick_times {
    course_times times;
    std::int64_t per_unit = 1;
};
tick_times ticks_of(const schedule_table& table, const timeline_options& options);

// In the steady state `minibatches` minibatches take `period`.
struct steady_pace {
    fraction period;
    std::uint32_t minibatches = 1;
    bool is_exact = true;       // else the mean of many minibatches
    std::vector<fraction> work; // of one minibatch, by device

    fraction per_minibatch() const { return period / fraction{minibatches}; }
    fraction idle(std::size_t device) const { return per_minibatch() - work[device]; }
    fraction most_idle() const;
    double idle_share() const; // of all devices' time
};

// The table is sound.
steady_pace find_steady_pace(const schedule_table& table, const timeline_options& options);

// Whether updates can wait for the gradients of all stages. They cannot where a device has an update before a pass that
// another stage's gradients need.
bool can_wait_for_all(const schedule_table& table);

// The time from the first step of an epoch of so many minibatches to its last.
fraction makespan_of(const schedule_table& table, const timeline_options& options,
                     std::uint32_t minibatches);

} // namespace troupe

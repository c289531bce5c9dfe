// A stage's part of a schedule, by the schedule's name.
#pragma once

#include <string_view>

#include "actors/pipeline/shape/pipeline_place.hpp"
#include "actors/pipeline/shape/schedules.hpp"
#include "actors/pipeline/shape/stage_order.hpp"

namespace troupe::test {

inline stage_schedule schedule_of_stage(std::string_view name, std::uint32_t stage,
                                        std::uint32_t stages, std::uint32_t microbatches = 1) {
    std::uint32_t devices = stages;
    for (const schedule_row& row : schedule_rows())
        devices = row.name == name ? stages / row.stages_per_device : devices;
    const schedule_table table =
        make_table(name, {.devices = devices, .microbatches = microbatches}).value();
    stage_schedule own{.steps = steps_of(table, stage),
                       .microbatches = microbatches,
                       .is_synchronous = !looks_back(table),
                       .stashes_weights = table.stashes_weights};
    if (stage > 0)
        own.previous_behind = updates_behind(steps_of(table, stage - 1));
    return own;
}

} // namespace troupe::test

#include "actors/training/plan/planned_schedule.hpp"

#include <algorithm>

#include "actors/app_file/app_file.hpp"
#include "actors/pipeline/shape/replicated_stages.hpp"
#include "actors/pipeline/shape/schedule_checker.hpp"
#include "actors/pipeline/shape/schedules.hpp"
#include "actors/pipeline/shape/stage_order.hpp"

namespace troupe {

namespace {

const schedule_row& row_of(proto::PipelineSchedule::Reader schedule) {
    const std::string name = name_of(schedule);
    const auto found = std::ranges::find(schedule_rows(), name, &schedule_row::name);
    TROUPE_CHECK(found != schedule_rows().end(), "each schedule of app files has a table");
    return *found;
}

table_request request_of(proto::PipelineTopology::Reader topology, std::uint32_t stages) {
    const auto schedule = topology.getSchedule();
    const std::uint32_t per_device = stages_per_device(schedule);
    table_request request{.devices = stages / per_device};
    if (cuts_minibatches(schedule))
        request.microbatches = topology.getMicrobatches();
    if (schedule.isPipedream())
        request.vertical_sync = schedule.getPipedream().getVerticalSync();
    if (schedule.isOneFOneB())
        request.doubled_warm_up = schedule.getOneFOneB().getDoubledWarmUp();
    if (schedule.isZeroBubble())
        request.doubled_warm_up = schedule.getZeroBubble().getDoubledWarmUp();
    if (schedule.isZeroBubbleV())
        request.activations = schedule.getZeroBubbleV().getActivations();
    if (schedule.isZeroBubble() || schedule.isInterleaved())
        request.stages_per_device = per_device;
    return request;
}

} // namespace

stage_schedule planned_schedule::of_stage(std::uint32_t stage, std::uint32_t replica) const {
    stage_schedule own{.steps = steps_of(table, stage),
                       .microbatches = table.microbatches,
                       .is_synchronous = is_synchronous,
                       .stashes_weights = table.stashes_weights};
    if (stage > 0)
        own.previous_behind = updates_behind(steps_of(table, stage - 1));
    const std::uint32_t device = table.device_of[stage];
    if (std::ranges::count(table.device_of, device) > 1)
        own.turns = {.device = std::uint64_t{replica} * table.devices.size() + device + 1,
                     .places = places_of(table, stage)};
    return own;
}

std::string name_of(proto::PipelineSchedule::Reader schedule) {
    return active_key(schedule);
}

bool cuts_minibatches(proto::PipelineSchedule::Reader schedule) {
    return !schedule.isPipedream();
}

bool is_synchronous(proto::PipelineSchedule::Reader schedule) {
    if (schedule.isTable())
        return true; // unless the file says otherwise
    const auto small = make_table(name_of(schedule), {.devices = 2, .microbatches = 2});
    TROUPE_CHECK(small.ok(), "a schedule has a table for two devices");
    return !looks_back(*small);
}

std::uint32_t stages_per_device(proto::PipelineSchedule::Reader schedule) {
    if (schedule.isInterleaved())
        return schedule.getInterleaved().getStagesPerDevice();
    if (schedule.isZeroBubble())
        return schedule.getZeroBubble().getStagesPerDevice();
    return schedule.isTable() ? 0 : row_of(schedule).stages_per_device;
}

result<planned_schedule> plan_schedule(proto::PipelineTopology::Reader topology,
                                       std::uint32_t stages,
                                       std::span<const std::uint32_t> replicas,
                                       const schedule_table* file) {
    planned_schedule planned;
    planned.name = name_of(topology.getSchedule());
    planned.is_synchronous = file != nullptr ? !looks_back(*file) && can_wait_for_all(*file)
                                             : is_synchronous(topology.getSchedule());
    if (!replicas.empty()) {
        planned.table = make_replicated_stages(replicas);
        for (const std::uint32_t forwards : warm_ups(replicas))
            planned.in_flight.push_back(forwards + 1);
        planned.versions = planned.in_flight;
        return planned;
    }
    auto table = file != nullptr ? result<schedule_table>{*file}
                                 : make_table(planned.name, request_of(topology, stages));
    if (!table)
        return table.failure();
    const auto numbers = check_table(*table);
    TROUPE_CHECK(numbers.ok(), "a schedule's own table is sound");
    planned.table = std::move(*table);
    planned.in_flight = numbers->in_flight;
    planned.versions = numbers->versions;
    return planned;
}

double idle_share_of(const schedule_table& table, std::span<const pass_times> stages) {
    // The timeline divides a device's time among its stages.
    const fraction on_device{
        static_cast<std::int64_t>(table.chain_stages() / table.devices.size())};
    timeline_options options;
    for (const pass_times& t : stages)
        options.stages.push_back(
            {t.forward * on_device, t.backward_input * on_device, t.backward_weight * on_device});
    return find_steady_pace(table, options).idle_share();
}

} // namespace troupe

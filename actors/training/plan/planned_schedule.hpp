// The schedule of a planned pipeline: its table, made for the plan's stages, and what the table says of memory. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/pipeline/shape/pipeline_place.hpp"
#include "actors/pipeline/shape/schedule_timeline.hpp"
#include "schemas/base/error.hpp"
#include "schemas/topology.capnp.h"

namespace troupe {

struct planned_schedule {
    std::string name = "pipedream"; // as in app files
    bool is_synchronous = false;    // all stages update before any goes on
    schedule_table table;
    std::vector<std::uint32_t>
        in_flight; // most microbatches between forward and backward pass, by stage
    std::vector<std::uint32_t> versions; // most weight versions alive at once, by stage

    // The share of all devices' time that they idle in a long epoch, by measured layer times; none where stages have no
    // times, or differ in replicas. Links take no time.
    std::optional<double> idle_share;

    // The table puts several stages on a device.
    bool deals_stages() const noexcept { return table.devices.size() < table.device_of.size(); }
    // The part that this stage runs by in a replica of the pipeline.
    stage_schedule of_stage(std::uint32_t stage, std::uint32_t replica) const;
};

std::string name_of(proto::PipelineSchedule::Reader schedule); // "pipedream"
bool cuts_minibatches(
    proto::PipelineSchedule::Reader schedule); // into the app's number of microbatches
bool is_synchronous(proto::PipelineSchedule::Reader schedule);
// Stages on each device in the schedule's order; 1: those that share a device take turns as they come. 0: a file says.
std::uint32_t stages_per_device(proto::PipelineSchedule::Reader schedule);

// `file`: the table that the app names by a file (table_file.hpp). `stages`: of stages_per_device() times as many
// devices. `replicas`: of each stage, where stages differ in them (pipedream alone), else empty. errc::usage, without the
// key, for settings that this schedule cannot have.
result<planned_schedule> plan_schedule(proto::PipelineTopology::Reader topology,
                                       std::uint32_t stages,
                                       std::span<const std::uint32_t> replicas,
                                       const schedule_table* file = nullptr);

// The share of their time that the devices of a sound table idle. `stages`: the times of each stage's microbatch, in any
// unit.
double idle_share_of(const schedule_table& table, std::span<const pass_times> stages);

} // namespace troupe

#include "actors/pipeline/schedule.hpp"

#include <algorithm>

namespace troupe {

namespace {

// Forward passes that a pipedream stage runs before its first backward pass.
std::uint64_t warm_up(stage_place place) {
    TROUPE_CHECK(place.stage < place.stages, "a stage lies in its pipeline");
    return place.stages - 1 - place.stage;
}

std::optional<instruction> next_gpipe(const epoch_shape& epoch, const schedule_position& at) {
    const std::uint64_t minibatch = at.updates;
    if (minibatch == epoch.minibatches)
        return std::nullopt;
    if (at.forward_minibatch == minibatch)
        return instruction{pass::forward, minibatch, at.forward_microbatch};
    if (at.backward_minibatch == minibatch)
        return instruction{pass::backward, minibatch,
                           epoch.microbatches_of(minibatch) - 1 - at.backward_count};
    return instruction{pass::update, minibatch, 0};
}

std::optional<instruction> next_pipedream(stage_place place, const epoch_shape& epoch,
                                          const schedule_position& at) {
    if (at.updates < at.backward_minibatch)
        return instruction{pass::update, at.updates, 0};
    const std::uint64_t in_flight = at.forward_minibatch - at.backward_minibatch;
    if (at.forward_minibatch < epoch.minibatches && in_flight <= warm_up(place))
        return instruction{pass::forward, at.forward_minibatch, 0};
    if (in_flight > 0)
        return instruction{pass::backward, at.backward_minibatch, 0};
    return std::nullopt;
}

} // namespace

std::optional<instruction> next_instruction(proto::PipelineSchedule schedule, stage_place place,
                                            const epoch_shape& epoch,
                                            const schedule_position& position) {
    switch (schedule) {
    case proto::PipelineSchedule::GPIPE:
        return next_gpipe(epoch, position);
    case proto::PipelineSchedule::PIPEDREAM:
        return next_pipedream(place, epoch, position);
    }
    check_failed("known schedule", __FILE__, __LINE__,
                 "unknown schedules are refused when the stage is placed");
}

schedule_position position_after(const instruction& i, const epoch_shape& epoch,
                                 schedule_position at) {
    switch (i.what) {
    case pass::forward:
        if (++at.forward_microbatch == epoch.microbatches_of(i.minibatch)) {
            at.forward_microbatch = 0;
            ++at.forward_minibatch;
        }
        break;
    case pass::backward:
        if (++at.backward_count == epoch.microbatches_of(i.minibatch)) {
            at.backward_count = 0;
            ++at.backward_minibatch;
        }
        break;
    case pass::update:
        ++at.updates;
        break;
    }
    return at;
}

std::vector<instruction> list_instructions(proto::PipelineSchedule schedule, stage_place place,
                                           const epoch_shape& epoch) {
    std::vector<instruction> list;
    schedule_position position;
    while (auto i = next_instruction(schedule, place, epoch, position)) {
        list.push_back(*i);
        position = position_after(*i, epoch, position);
    }
    return list;
}

std::uint32_t in_flight_max(proto::PipelineSchedule schedule, stage_place place,
                            const epoch_shape& epoch) {
    if (schedule == proto::PipelineSchedule::GPIPE)
        return epoch.microbatches_max;
    return static_cast<std::uint32_t>(std::min(warm_up(place) + 1, epoch.minibatches));
}

std::uint64_t version_used(proto::PipelineSchedule schedule, stage_place place,
                           std::uint64_t minibatch) {
    if (schedule == proto::PipelineSchedule::GPIPE)
        return minibatch;
    return minibatch - std::min(minibatch, warm_up(place));
}

std::string to_string(const instruction& i) {
    const std::string minibatch = std::to_string(i.minibatch);
    switch (i.what) {
    case pass::forward:
        return "F" + minibatch + "." + std::to_string(i.microbatch);
    case pass::backward:
        return "B" + minibatch + "." + std::to_string(i.microbatch);
    case pass::update:
        return "U" + minibatch;
    }
    return {};
}

} // namespace troupe

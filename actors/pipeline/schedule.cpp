#include "actors/pipeline/schedule.hpp"

#include <algorithm>

namespace troupe {

namespace {

// Forward passes of a pipedream stage before it alternates forward and backward passes.
std::uint64_t warm_up(stage_place place) {
    TROUPE_CHECK(place.stage < place.stages, "a stage lies in its pipeline");
    return place.warm_up.value_or(place.stages - 1 - place.stage);
}

std::optional<instruction> next_gpipe(stage_place, const epoch_shape& epoch,
                                      const schedule_position& at) {
    const std::uint64_t minibatch = at.updates;
    // A replica with one minibatch less than others makes as many updates: one more than it has minibatches.
    if (minibatch >= epoch.minibatches)
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

std::uint32_t in_flight_gpipe(stage_place, const epoch_shape& epoch) {
    return epoch.microbatches_max;
}

std::uint32_t in_flight_pipedream(stage_place place, const epoch_shape& epoch) {
    return static_cast<std::uint32_t>(std::min(warm_up(place) + 1, epoch.minibatches));
}

std::uint64_t version_gpipe(stage_place, std::uint64_t minibatch) {
    return minibatch;
}

std::uint64_t version_pipedream(stage_place place, std::uint64_t minibatch) {
    return minibatch - std::min(minibatch, warm_up(place));
}

// The properties of a schedule, by its enumerant.
struct row {
    proto::PipelineSchedule schedule;
    std::string_view name;
    bool cuts_minibatches; // into microbatches
    bool stashes_weights;  // keeps the version of every minibatch in flight
    decltype(next_gpipe)& next;
    decltype(in_flight_gpipe)& in_flight;
    decltype(version_gpipe)& version;
};

constexpr row rows[] = {
    {proto::PipelineSchedule::GPIPE, "gpipe", true, false, next_gpipe, in_flight_gpipe,
     version_gpipe},
    {proto::PipelineSchedule::PIPEDREAM, "pipedream", false, true, next_pipedream,
     in_flight_pipedream, version_pipedream},
};

const row& row_of(proto::PipelineSchedule schedule) {
    const auto found = std::ranges::find(rows, schedule, &row::schedule);
    TROUPE_CHECK(found != std::end(rows), "unknown schedules are refused when a stage is placed");
    return *found;
}

} // namespace

std::vector<std::uint32_t> warm_ups(std::span<const std::uint32_t> replicas) {
    std::vector<std::uint32_t> forwards(replicas.size());
    std::uint32_t from_here_on = 0;
    // Minibatches that all replicas of the next stage together hold before their first backward pass.
    std::uint32_t next_holds = 0;
    for (std::size_t s = replicas.size(); s-- > 0;) {
        from_here_on += replicas[s];
        const std::uint32_t needed = std::max(from_here_on, next_holds + replicas[s] - 1);
        const std::uint32_t held = (needed + replicas[s] - 1) / replicas[s];
        next_holds = held * replicas[s];
        forwards[s] = held - 1;
    }
    return forwards;
}

bool is_known(proto::PipelineSchedule schedule) {
    return std::ranges::find(rows, schedule, &row::schedule) != std::end(rows);
}

std::string_view name_of(proto::PipelineSchedule schedule) {
    return row_of(schedule).name;
}

bool cuts_minibatches(proto::PipelineSchedule schedule) {
    return row_of(schedule).cuts_minibatches;
}

bool is_synchronous(proto::PipelineSchedule schedule) {
    return !row_of(schedule).stashes_weights;
}

std::optional<instruction> next_instruction(proto::PipelineSchedule schedule, stage_place place,
                                            const epoch_shape& epoch,
                                            const schedule_position& position) {
    return row_of(schedule).next(place, epoch, position);
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
    return row_of(schedule).in_flight(place, epoch);
}

std::uint32_t versions_max(proto::PipelineSchedule schedule, stage_place place,
                           const epoch_shape& epoch) {
    const row& r = row_of(schedule);
    return r.stashes_weights ? r.in_flight(place, epoch) : 1;
}

std::uint64_t version_used(proto::PipelineSchedule schedule, stage_place place,
                           std::uint64_t minibatch) {
    return row_of(schedule).version(place, minibatch);
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

#include "actors/pipeline/shape/schedule_message.hpp"

#include <algorithm>

#include "actors/pipeline/shape/stage_order.hpp"

namespace troupe {

namespace {

void write_steps(capnp::List<proto::StageStep>::Builder to,
                 const std::vector<schedule_step>& from) {
    for (unsigned i = 0; i < to.size(); ++i) {
        to[i].setKind(static_cast<proto::StageStep::Kind>(from[i].kind));
        to[i].setMicrobatch(from[i].microbatch);
        to[i].setAhead(from[i].ahead);
        to[i].setBehind(from[i].behind);
    }
}

std::vector<schedule_step> read_steps(capnp::List<proto::StageStep>::Reader from) {
    std::vector<schedule_step> steps;
    for (const auto s : from)
        steps.push_back({.kind = static_cast<step_kind>(s.getKind()),
                         .microbatch = s.getMicrobatch(),
                         .ahead = s.getAhead(),
                         .behind = s.getBehind()});
    return steps;
}

} // namespace

void write_schedule(proto::StageSchedule::Builder to, const stage_schedule& from) {
    const auto& [warm_up, body] = from.steps;
    write_steps(to.initWarmUp(static_cast<unsigned>(warm_up.size())), warm_up);
    write_steps(to.initBody(static_cast<unsigned>(body.size())), body);
    to.setMicrobatches(from.microbatches);
    auto behind = to.initPreviousBehind(static_cast<unsigned>(from.previous_behind.size()));
    for (unsigned m = 0; m < behind.size(); ++m)
        behind.set(m, from.previous_behind[m]);
    to.setIsSynchronous(from.is_synchronous);
    to.setStashesWeights(from.stashes_weights);
    to.setTurns(from.turns.device);
    auto places = to.initPlaces(static_cast<unsigned>(from.turns.places.size()));
    for (unsigned p = 0; p < places.size(); ++p)
        places.set(p, from.turns.places[p]);
}

result<stage_schedule> read_schedule(proto::StageSchedule::Reader from, bool is_first) {
    if (std::size_t{from.getWarmUp().size()} + from.getBody().size() > limits::schedule_steps_max)
        return error{errc::protocol, "a stage's schedule has too many steps"};
    for (const auto list : {from.getWarmUp(), from.getBody()})
        for (const auto s : list)
            if (s.getKind() > proto::StageStep::Kind::UPDATE)
                return error{errc::protocol, "a stage's schedule has a step of no known kind"};
    stage_schedule schedule{.steps = {read_steps(from.getWarmUp()), read_steps(from.getBody())},
                            .microbatches = from.getMicrobatches(),
                            .is_synchronous = from.getIsSynchronous(),
                            .stashes_weights = from.getStashesWeights()};
    for (const std::uint32_t behind : from.getPreviousBehind())
        schedule.previous_behind.push_back(behind);
    if (auto sound =
            check_stage_steps(schedule.steps, schedule.microbatches, schedule.stashes_weights);
        !sound)
        return sound.failure();
    if (schedule.previous_behind.size() != (is_first ? 0 : schedule.microbatches))
        return error{errc::protocol,
                     "a stage's schedule says not how far the stage before is behind"};
    schedule.turns.device = from.getTurns();
    for (const std::uint32_t place : from.getPlaces())
        schedule.turns.places.push_back(place);
    const std::size_t steps = schedule.turns.device > 0 ? step_count(schedule.steps) : 0;
    if (schedule.turns.places.size() != steps ||
        std::ranges::adjacent_find(schedule.turns.places, std::ranges::greater_equal{}) !=
            schedule.turns.places.end())
        return error{errc::protocol, "a stage's steps have no places on its device"};
    return schedule;
}

} // namespace troupe

// Schedules without a flush: 1F1B over all microbatches of an epoch, whose stages update as they go. Stage s of S begins
// with w = S-1-s forwards, and then alternates: the forward of microbatch i + w, the backward of microbatch i, i counted
// through the epoch, and after the last backward of a minibatch its update. They differ in the weights that a forward uses.
//
//   pipedream           the latest ones, w minibatches behind, kept for the backward. With vertical sync the version that
//                       the first stage used. Source: Narayanan et al., PipeDream, SOSP 2019.
//   two_versions        those of the minibatch before the last at all stages, PipeDream-2BW. The warm-up is at most the
//                       microbatches of a minibatch: with fewer of them than stages devices wait.
//                       Source: Narayanan et al., arXiv 2006.09503.
//   local_accumulation  the latest ones, of which none is kept: a backward uses the latest, too. A microbatch crosses w div
//                       m updates or one more, for m microbatches to an update. Source: PACI, arXiv 2606.07881.
#include <algorithm>

#include "actors/pipeline/shape/schedule_makers.hpp"

namespace troupe {

namespace {

// `warm_up(s)`: forwards with which stage s begins. `behind(s, i)`: updates that microbatch i of a minibatch is behind
// there.
template <class WarmUp, class Behind>
schedule_table make_flushless(const table_request& of, WarmUp warm_up, Behind behind) {
    schedule_table table;
    table.stages = of.devices;
    table.microbatches = of.microbatches;
    table.device_of = looped_places(of.devices, 1);
    table.devices.resize(of.devices);
    for (std::uint32_t s = 0; s < of.devices; ++s) {
        device_steps& steps = table.devices[s];
        const auto forward = [&](std::uint32_t i) {
            const std::uint32_t m = i % of.microbatches;
            return schedule_step{step_kind::forward, s, m, i / of.microbatches, behind(s, m)};
        };
        const std::uint32_t first = warm_up(s);
        for (std::uint32_t i = 0; i < first; ++i)
            steps.warm_up.push_back(forward(i));
        for (std::uint32_t i = 0; i < of.microbatches; ++i) {
            steps.body.push_back(forward(first + i));
            steps.body.push_back({step_kind::backward, s, i});
        }
        steps.body.push_back({step_kind::update, s});
    }
    return table;
}

} // namespace

result<schedule_table> make_pipedream(const table_request& request) {
    const std::uint32_t last = request.devices - 1;
    return make_flushless(
        request, [&](std::uint32_t s) { return last - s; },
        [&](std::uint32_t s, std::uint32_t m) {
            const std::uint32_t warm_up = request.vertical_sync ? last : last - s;
            return (warm_up + request.microbatches - 1 - m) / request.microbatches;
        });
}

result<schedule_table> make_two_versions(const table_request& request) {
    return make_flushless(
        request,
        [&](std::uint32_t s) { return std::min(request.devices - 1 - s, request.microbatches); },
        [](std::uint32_t, std::uint32_t) { return 1u; });
}

result<schedule_table> make_local_accumulation(const table_request& request) {
    const std::uint32_t last = request.devices - 1;
    schedule_table table = make_flushless(
        request, [&](std::uint32_t s) { return last - s; },
        [&](std::uint32_t s, std::uint32_t m) {
            return (last - s + request.microbatches - 1 - m) / request.microbatches;
        });
    table.stashes_weights = false;
    return table;
}

} // namespace troupe

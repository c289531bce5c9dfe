// 1F1B and what follows from it by three settings: stages per device, backward passes as a whole or in halves, and a single
// or doubled warm-up.
//
//   whole, one stage a device      1F1B with a flush. Sources: Fan et al., DAPPLE, PPoPP 2021; Narayanan et al.,
//                                  PipeDream-Flush, arXiv 2006.09503. Doubled: DAPPLE's policy B.
//   whole, several                 interleaved. Source: Narayanan et al., arXiv 2104.04473.
//   halves, one                    ZB-H1; doubled ZB-H2. Source: Qi et al., Zero Bubble Pipeline Parallelism, arXiv
//   2401.10241. halves, several                both at once.
//
// The M microbatches are cut into max(1, M div P) rounds whose sizes differ by at most one, for P devices. A device takes
// all microbatches of a round at its first stage, then at its second one, and so on; backward passes in the same way from
// its last stage to its first. With z microbatches in the first round, device r begins with (V-1) z forwards and some for
// its place, and alternates then. For M a multiple of P these are the tables of others; they have no table for most other M.
#include <algorithm>

#include "actors/pipeline/shape/schedule_makers.hpp"

namespace troupe {

namespace {

// The order in which a device does the forward, or backward, passes of its stages.
std::vector<schedule_step> in_rounds(const table_request& of, std::uint32_t device,
                                     step_kind kind) {
    const std::uint32_t rounds = std::max(1u, of.microbatches / of.devices);
    const bool is_forward = kind == step_kind::forward;
    std::vector<schedule_step> steps;
    std::uint32_t first = 0;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const std::uint32_t size =
            of.microbatches / rounds + (round < of.microbatches % rounds ? 1 : 0);
        for (std::uint32_t v = 0; v < of.stages_per_device; ++v) {
            const std::uint32_t chunk = is_forward ? v : of.stages_per_device - 1 - v;
            for (std::uint32_t m = 0; m < size; ++m)
                steps.push_back({kind, device + chunk * of.devices, first + m});
        }
        first += size;
    }
    return steps;
}

struct alternation {
    std::size_t warm_up =
        0;               // forwards before the first backward, but for the one that goes with it
    std::size_t lag = 0; // backward passes by which weight halves are behind
    bool halves = false;
};

// Forward passes first, then forward, backward, (weight half), until nothing is left.
std::vector<schedule_step> alternate(const std::vector<schedule_step>& forwards,
                                     std::vector<schedule_step> backwards, const alternation& by) {
    const std::size_t warm_up = std::min(by.warm_up, forwards.size());
    std::vector<schedule_step> steps(forwards.begin(),
                                     forwards.begin() + static_cast<std::ptrdiff_t>(warm_up));
    for (std::size_t i = 0; i < backwards.size() + by.lag; ++i) {
        if (warm_up + i < forwards.size())
            steps.push_back(forwards[warm_up + i]);
        if (i < backwards.size())
            steps.push_back(backwards[i]);
        if (by.halves && i >= by.lag) {
            steps.push_back(backwards[i - by.lag]);
            steps.back().kind = step_kind::backward_weight;
        }
    }
    return steps;
}

schedule_table make_family(const table_request& of, bool halves) {
    schedule_table table = synchronous_table(looped_places(of.devices, of.stages_per_device),
                                             of.devices, 1, of.microbatches);
    const std::uint32_t rounds = std::max(1u, of.microbatches / of.devices);
    const std::size_t first_round = (of.microbatches + rounds - 1) / rounds;
    // Whole backward passes of several stages take turns with the forwards of others: the second warm-up is theirs, too.
    const bool is_double = of.doubled_warm_up || (!halves && of.stages_per_device > 1);
    for (std::uint32_t r = 0; r < of.devices; ++r) {
        alternation by{.halves = halves};
        by.warm_up = (of.stages_per_device - 1) * first_round +
                     (is_double ? 2 : 1) * std::size_t{of.devices - 1 - r};
        by.lag = halves ? (of.doubled_warm_up ? 2 : 1) * std::size_t{r} : 0;
        table.devices[r].body = alternate(
            in_rounds(of, r, step_kind::forward),
            in_rounds(of, r, halves ? step_kind::backward_input : step_kind::backward), by);
    }
    append_updates(table);
    return table;
}

} // namespace

result<schedule_table> make_one_f_one_b(const table_request& request) {
    return make_family(request, false);
}

result<schedule_table> make_zero_bubble(const table_request& request) {
    return make_family(request, true);
}

} // namespace troupe

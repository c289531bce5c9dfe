#include "actors/scheduled/carry_over.hpp"

#include <algorithm>

#include "actors/scheduled/part_call.hpp"
#include "actors/scheduled/staleness.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::scheduled {

namespace {

staleness bound_of(const carried_site& site) {
    return {site.schedule.window, site.blocks.empty() ? std::nullopt : std::optional{site.ring()}};
}

// Phases that a scheduler needs to know the deltas of when it has folded those below `number`, as phase_ledger keeps them.
std::deque<phase_deltas> no_changes(std::uint64_t number, const staleness& bound) {
    std::deque<phase_deltas> all;
    for (std::uint64_t n = number == 0 ? 0 : bound.applied_before(number - 1); n < number; ++n)
        all.push_back({n, {}});
    return all;
}

bool is_same_goal(const auto& one, const auto& other) {
    return one.gap == other.gap && one.length == other.length && one.iterations == other.iterations;
}

} // namespace

std::string text_of(const commit_shape& shape) {
    return counted(shape.workers, "worker") + ", " + counted(shape.schedulers, "shard") +
           " and window " + std::to_string(shape.window);
}

bool goes_on_as_it_is(const commit_shape& from, const commit_shape& to,
                      const std::vector<saved_state>& commit) {
    const bool is_over =
        std::ranges::any_of(commit, [](const saved_state& s) { return s.end.is_done; });
    return from.workers == to.workers && from.schedulers == to.schedulers &&
           from.window == to.window && (is_same_goal(from, to) || !is_over);
}

result<std::vector<saved_state>> carry_over(const program& what, const carried_site& before,
                                            const carried_site& now,
                                            std::vector<saved_state> commit) {
    const std::size_t workers = before.rows.size(), schedulers = before.variables.size();
    const auto is_elsewhere = [&](const saved_state& s) {
        return s.number != commit.front().number;
    };
    if (commit.size() != workers + schedulers || std::ranges::any_of(commit, is_elsewhere))
        return error{errc::data, "its members are not those of a run at one phase"};
    const saved_state& first = commit[workers]; // of all schedulers the same, but for their parts
    const std::uint64_t number = first.number;
    carried_run run{number, {}, {}, {}};
    for (const phase_deltas& d : first.deltas)
        if (d.number >= bound_of(before).applied_before(number))
            run.unapplied.push_back(d);
    for (std::size_t m = 0; m < commit.size(); ++m)
        (m < workers ? run.workers : run.schedulers).push_back(std::move(commit[m].part));
    if (auto carried = call_program(what.name, "carry_over",
                                    [&] { return what.carry_over(before, now, run); });
        !carried)
        return carried.failure();
    if (run.workers.size() != now.rows.size() || run.schedulers.size() != now.variables.size() ||
        run.phase < number)
        return error{errc::usage, "the program " + what.name +
                                      " carries a run over to other members; correct the program"};
    std::vector<saved_state> states(run.workers.size() + run.schedulers.size());
    for (std::size_t m = 0; m < states.size(); ++m) {
        saved_state& to = states[m];
        to.number = run.phase;
        if (m < run.workers.size()) {
            to.part = std::move(run.workers[m]);
            to.deltas = {run.unapplied.begin(), run.unapplied.end()};
            if (m < workers) // blocks are those of as many workers
                to.blocks = std::move(commit[m].blocks);
            continue;
        }
        to.part = std::move(run.schedulers[m - run.workers.size()]);
        to.deltas = no_changes(run.phase, bound_of(now));
        to.milestones = first.milestones;
        if (first.end.phase > 0 && is_same_goal(before.stop, now.stop))
            to.end = {run.phase, first.end.is_done};
    }
    return states;
}

} // namespace troupe::scheduled

#include "tools/inspector/work_path.hpp"

#include <algorithm>
#include <tuple>

namespace troupe::inspector {

namespace {

constexpr std::size_t runs_max = 1u << 12; // that work_ranges tell apart

struct timed_step {
    work_step step;
    std::uint64_t run = 0;
    std::int64_t ends_ns = 0;
};

timed_step step_of(const trace_event& e, const node_trace& trace, std::int64_t sender_offset_ns,
                   const node_names* names) {
    const std::int64_t offset = trace.clock.offset_ns;
    timed_step made{.run = e.run, .ends_ns = e.ended_ns - offset};
    work_step& s = made.step;
    s.kind = e.kind;
    s.to = {trace.node, e.to_actor};
    s.what = names != nullptr ? names->type_of(e) : node_names{}.type_of(e);
    s.run_ns = e.ended_ns - e.started_ns;
    if (e.kind == trace_kind::message) {
        s.from = {e.from_node, e.from_actor};
        s.begins_ns = e.sent_ns - sender_offset_ns;
        s.wire_ns = e.enqueued_ns - offset - s.begins_ns;
        s.queue_ns = e.started_ns - e.enqueued_ns;
        s.bytes = e.bytes;
    } else { // nobody records when device work was submitted
        s.from = s.to;
        s.begins_ns = e.started_ns - offset;
    }
    return made;
}

// The key that is the same in every copy of an event.
auto identity_of(const trace_event& e, node_id recorded_by) {
    return std::tuple{recorded_by, e.kind, e.to_actor,  e.from_node,
                      e.sequence,  e.type, e.started_ns};
}

std::vector<timed_step> steps_of(std::uint64_t work, const std::vector<node_trace>& traces,
                                 const all_names& names) {
    std::map<node_id, std::int64_t> offsets;
    for (const node_trace& trace : traces)
        offsets[trace.node] = trace.clock.offset_ns;
    std::set<decltype(identity_of({}, {}))> seen;
    std::vector<timed_step> steps;
    for (const node_trace& trace : traces) {
        const auto known = names.find(trace.node);
        for (const trace_event& e : trace.events) {
            if (e.work.value() != work || e.run == 0 ||
                !seen.insert(identity_of(e, trace.node)).second)
                continue;
            const auto sender = offsets.find(e.from_node);
            steps.push_back(
                step_of(e, trace, sender == offsets.end() ? trace.clock.offset_ns : sender->second,
                        known == names.end() ? nullptr : &known->second));
        }
    }
    return steps;
}

} // namespace

work_path follow_work(std::uint64_t work, std::uint64_t run, const std::vector<node_trace>& traces,
                      const all_names& names) {
    std::vector<timed_step> steps = steps_of(work, traces, names);
    work_path path{.work = work, .run = run};
    for (const timed_step& s : steps)
        path.other_runs.insert(s.run);
    if (run == 0 && !steps.empty())
        path.run = std::ranges::max(steps, {}, &timed_step::ends_ns).run;
    path.other_runs.erase(path.run);
    std::erase_if(steps, [&](const timed_step& s) { return s.run != path.run; });
    std::ranges::stable_sort(steps, {}, [](const timed_step& s) { return s.step.begins_ns; });
    for (timed_step& s : steps) {
        path.total_ns = std::max(path.total_ns, s.ends_ns - steps.front().step.begins_ns);
        path.steps.push_back(std::move(s.step));
    }
    return path;
}

void work_ranges::add(const std::vector<trace_event>& events) {
    for (const trace_event& e : events) {
        const std::uint64_t work = e.work.value();
        if (work == none || e.run == 0 || (by_run_.size() >= runs_max && !by_run_.contains(e.run)))
            continue;
        range& its = by_run_.try_emplace(e.run, range{work, work}).first->second;
        its = {std::min(its.oldest, work), std::max(its.newest, work)};
    }
}

std::optional<std::uint64_t> work_ranges::newest_of(std::uint64_t run) const {
    const auto found = by_run_.find(run);
    return found == by_run_.end() ? std::nullopt : std::optional{found->second.newest};
}

} // namespace troupe::inspector

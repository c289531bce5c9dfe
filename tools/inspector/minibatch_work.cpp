#include "tools/inspector/minibatch_work.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::inspector {

namespace {

void put_work(const trace_event& e, const std::string& label, actor_work& work) {
    if (label == proto::FORWARD_WORK->cStr())
        work.forwards.push_back(e);
    else if (label == proto::BACKWARD_WORK->cStr() || label == proto::BACKWARD_INPUT_WORK->cStr())
        work.backwards.push_back(e);
    else if (label == proto::BACKWARD_WEIGHT_WORK->cStr())
        work.weight_halves.push_back(e);
    else if (label == proto::UPDATE_WORK->cStr())
        work.updates.push_back(e);
}

void put_message(const trace_event& e, actor_address to, all_work& work) {
    const minibatch_message m{e, to};
    (e.type == activation_type ? work[to].activations : work[to].gradients).push_back(m);
    actor_work& sender = work[m.from()];
    sender.passes_on = sender.passes_on || e.type == activation_type;
    if (e.state.value() != none)
        (e.type == activation_type ? sender.sent_activation_versions
                                   : sender.sent_gradient_versions)
            .insert(e.state.value());
}

all_work sort_events(std::uint64_t minibatch, const std::vector<node_trace>& traces,
                     const all_names& names) {
    std::map<node_id, std::int64_t> offsets;
    for (const node_trace& trace : traces)
        offsets[trace.node] = trace.clock.offset_ns;
    all_work work;
    std::set<std::pair<node_id, std::uint64_t>>
        seen; // a message is handled once; a trace may be read twice
    for (const node_trace& trace : traces) {
        const auto known = names.find(trace.node);
        for (trace_event e : trace.events) {
            if (e.work.value() != minibatch)
                continue;
            const auto sender = offsets.find(e.from_node);
            e.sent_ns -= sender == offsets.end() ? trace.clock.offset_ns : sender->second;
            e.enqueued_ns -= trace.clock.offset_ns;
            e.started_ns -= trace.clock.offset_ns;
            e.ended_ns -= trace.clock.offset_ns;
            const actor_address to{trace.node, e.to_actor};
            if (e.kind == trace_kind::compute)
                put_work(e, known == names.end() ? std::string{} : known->second.type_of(e),
                         work[to]);
            else if (e.type == fetched_type)
                work[to].fetched = e;
            else if ((e.type == activation_type || e.type == gradient_type) &&
                     seen.insert({e.from_node, e.sequence}).second)
                put_message(e, to, work);
        }
    }
    const auto by_start = [](const trace_event& a, const trace_event& b) {
        return a.started_ns < b.started_ns;
    };
    const auto by_handling = [](const minibatch_message& a, const minibatch_message& b) {
        return a.event.started_ns < b.event.started_ns;
    };
    for (auto& [address, w] : work) {
        std::ranges::stable_sort(w.activations, by_handling);
        std::ranges::stable_sort(w.gradients, by_handling);
        std::ranges::stable_sort(w.forwards, by_start);
        std::ranges::stable_sort(w.backwards, by_start);
        std::ranges::stable_sort(w.weight_halves, by_start);
        std::ranges::stable_sort(w.updates, by_start);
    }
    return work;
}

// Numbers runs: by actor, the same number for all that an Activation or a Gradient joins.
std::map<actor_address, std::size_t> runs_of(const all_work& work) {
    std::map<actor_address, std::size_t> run;
    for (const auto& [address, w] : work)
        run.emplace(address, run.size());
    // Nodes choose how many there are of both: disjoint sets, each actor pointing to one that stands for more.
    std::vector<std::size_t> parent(run.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t i) {
        for (; parent[i] != i; i = parent[i])
            parent[i] = parent[parent[i]];
        return i;
    };
    const auto join = [&](const minibatch_message& m) {
        parent[root(run.at(m.from()))] = root(run.at(m.to));
    };
    for (const auto& [address, w] : work) {
        std::ranges::for_each(w.activations, join);
        std::ranges::for_each(w.gradients, join);
    }
    for (auto& [address, number] : run)
        number = root(number);
    return run;
}

struct one_run {
    time_span span;
    actor_address source;
    bool has_source = false; // who sends activations and receives none
    bool active = false;

    void add(actor_address address, const actor_work& w, const known_runs& known) {
        span.add(span_of(w));
        const bool is_stage = known.stages.contains(address);
        active = active || is_stage;
        const bool is_source = w.passes_on && w.activations.empty() && !is_stage;
        if (!source || (is_source && !has_source))
            source = address;
        has_source = has_source || is_source;
    }
};

// Nodes remember several runs, each with a minibatch of this number. An actor whose messages are lost is taken for one of
// the run that is kept if it worked meanwhile.
work_of_run keep_one_run(all_work work, const known_runs& known) {
    const auto number = runs_of(work);
    std::map<std::size_t, one_run> runs;
    for (const auto& [address, w] : work)
        runs[number.at(address)].add(address, w, known);
    const auto rank = [&](const auto& entry) {
        const one_run& run = entry.second;
        return std::pair{run.active && run.source.node == known.home, run.span.last};
    };
    const auto chosen = std::ranges::max_element(runs, {}, rank);
    if (chosen == runs.end())
        return {};
    const auto& [kept, run] = *chosen;
    work_of_run result{{}, run.source, {}};
    for (const auto& [other, its] : runs)
        if (other != kept && its.active && its.has_source)
            result.other_sources.push_back(its.source);
    std::erase_if(work, [&](const auto& entry) {
        const auto& [address, w] = entry;
        const bool has_messages =
            !w.activations.empty() || !w.gradients.empty() || !w.sent_activation_versions.empty();
        return number.at(address) != kept && (has_messages || span_of(w).last < run.span.first);
    });
    result.actors = std::move(work);
    return result;
}

} // namespace

time_span span_of(const actor_work& work) {
    time_span span;
    for (const auto* list : {&work.forwards, &work.backwards, &work.weight_halves, &work.updates})
        for (const trace_event& e : *list)
            span.add(e);
    if (work.fetched)
        span.add(*work.fetched);
    for (const auto* list : {&work.activations, &work.gradients})
        for (const minibatch_message& m : *list)
            span.add(m.event);
    return span;
}

work_of_run work_on(std::uint64_t minibatch, const std::vector<node_trace>& traces,
                    const all_names& names, const known_runs& known) {
    return keep_one_run(sort_events(minibatch, traces, names), known);
}

} // namespace troupe::inspector

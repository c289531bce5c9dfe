#include "tools/inspector/minibatch_path.hpp"

#include <algorithm>
#include <limits>

#include "schemas/pipeline.capnp.h"

namespace troupe::inspector {

namespace {

const std::uint64_t activation_type = capnp::typeId<proto::Activation>();
const std::uint64_t gradient_type = capnp::typeId<proto::Gradient>();

struct message {
    trace_event event; // times aligned
    actor_address to;

    actor_address from() const { return {event.from_node, event.from_actor}; }
};

// What one actor did for the minibatch, each list by the time of its start.
struct actor_work {
    std::vector<message> activations;
    std::vector<message> gradients;
    std::vector<trace_event> forwards;
    std::vector<trace_event> backwards;
    std::vector<trace_event> updates;
    bool passes_on = false; // somebody had an Activation from it
    std::set<std::uint64_t> sent_activation_versions;
    std::set<std::uint64_t> sent_gradient_versions;
};

using all_work = std::map<actor_address, actor_work>;

void put_work(const trace_event& e, const std::string& label, actor_work& work) {
    if (label == "forward")
        work.forwards.push_back(e);
    else if (label == "backward")
        work.backwards.push_back(e);
    else if (label == "update")
        work.updates.push_back(e);
}

void put_message(const trace_event& e, actor_address to, all_work& work) {
    const message m{e, to};
    (e.type == activation_type ? work[to].activations : work[to].gradients).push_back(m);
    actor_work& sender = work[m.from()];
    sender.passes_on = sender.passes_on || e.type == activation_type;
    if (e.weights.value() != none)
        (e.type == activation_type ? sender.sent_activation_versions
                                   : sender.sent_gradient_versions)
            .insert(e.weights.value());
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
            if (e.minibatch.value() != minibatch)
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
            else if ((e.type == activation_type || e.type == gradient_type) &&
                     seen.insert({e.from_node, e.sequence}).second)
                put_message(e, to, work);
        }
    }
    const auto by_start = [](const trace_event& a, const trace_event& b) {
        return a.started_ns < b.started_ns;
    };
    const auto by_handling = [](const message& a, const message& b) {
        return a.event.started_ns < b.event.started_ns;
    };
    for (auto& [address, w] : work) {
        std::ranges::stable_sort(w.activations, by_handling);
        std::ranges::stable_sort(w.gradients, by_handling);
        std::ranges::stable_sort(w.forwards, by_start);
        std::ranges::stable_sort(w.backwards, by_start);
        std::ranges::stable_sort(w.updates, by_start);
    }
    return work;
}

std::optional<std::uint64_t> version_of(const trace_event& e) {
    return e.weights.value() == none ? std::nullopt : std::optional{e.weights.value()};
}

// The first pass that nothing has claimed yet and that began after the message was taken from the mailbox.
const trace_event* claim(const std::vector<trace_event>& passes,
                         std::set<const trace_event*>& claimed, std::int64_t not_before_ns) {
    for (const trace_event& pass : passes)
        if (pass.started_ns >= not_before_ns && claimed.insert(&pass).second)
            return &pass;
    return nullptr;
}

hop hop_of(hop_kind kind, const message& m, const trace_event* pass) {
    hop h;
    h.kind = kind;
    h.from = m.from();
    h.to = m.to;
    h.sent_ns = m.event.sent_ns;
    h.wire_ns = m.event.enqueued_ns - m.event.sent_ns;
    h.mailbox_ns = m.event.started_ns - m.event.enqueued_ns;
    h.bytes = m.event.bytes;
    if (pass) {
        h.queue_ns = pass->started_ns - m.event.enqueued_ns;
        h.run_ns = pass->ended_ns - pass->started_ns;
        h.weights = version_of(*pass);
    }
    return h;
}

// A stage that turns around runs backward what it last ran forward: each backward pass belongs to the latest forward
// pass before it that has none.
void add_turns(actor_address stage, const actor_work& work, std::vector<hop>& hops) {
    std::set<const trace_event*> claimed;
    for (const trace_event& backward : work.backwards) {
        const trace_event* forward = nullptr;
        for (const trace_event& f : work.forwards)
            if (f.ended_ns <= backward.started_ns && !claimed.contains(&f))
                forward = &f;
        claimed.insert(forward);
        hop h;
        h.kind = hop_kind::turn;
        h.from = h.to = stage;
        h.sent_ns = forward ? forward->ended_ns : backward.started_ns;
        if (forward)
            h.queue_ns = backward.started_ns - forward->ended_ns;
        h.run_ns = backward.ended_ns - backward.started_ns;
        h.weights = version_of(backward);
        hops.push_back(h);
    }
}

void add_hops(actor_address actor, const actor_work& work, std::vector<hop>& hops) {
    std::set<const trace_event*> claimed;
    for (const message& m : work.activations) {
        hop h = hop_of(hop_kind::forward, m, claim(work.forwards, claimed, m.event.started_ns));
        if (!h.weights && work.sent_activation_versions.size() == 1)
            h.weights = *work.sent_activation_versions.begin();
        hops.push_back(h);
    }
    for (const message& m : work.gradients) {
        hop h = hop_of(hop_kind::backward, m, claim(work.backwards, claimed, m.event.started_ns));
        if (!h.weights && !work.activations.empty() && work.sent_gradient_versions.size() == 1)
            h.weights = *work.sent_gradient_versions.begin();
        hops.push_back(h);
    }
    if (!work.passes_on)
        add_turns(actor, work, hops);
}

// Versions from the device's work; where its events are missing, from what the stage sent.
stage_weights weights_of(actor_address stage, const actor_work& work) {
    stage_weights w;
    w.stage = stage;
    for (const trace_event& pass : work.forwards)
        if (const auto version = version_of(pass))
            w.forward.insert(*version);
    for (const trace_event& pass : work.backwards)
        if (const auto version = version_of(pass))
            w.backward.insert(*version);
    if (w.forward.empty())
        w.forward = work.sent_activation_versions;
    if (w.backward.empty())
        w.backward = work.sent_gradient_versions;
    if (!work.updates.empty())
        w.updated = version_of(work.updates.back());
    if (w.updated)
        w.produced = *w.updated + 1;
    return w;
}

// Every activation was computed and answered, and every stage has made its version. Who sends activations and receives
// none is the data source.
bool is_complete(const all_work& work) {
    std::size_t left_home = 0;
    std::size_t back_home = 0;
    for (const auto& [address, w] : work) {
        if (w.activations.empty()) {
            back_home += w.gradients.size();
            continue;
        }
        const std::size_t parts = w.activations.size();
        if (w.forwards.size() != parts || w.backwards.size() != parts || w.updates.empty() ||
            w.gradients.size() != (w.passes_on ? parts : 0))
            return false;
        for (const message& m : w.activations)
            left_home += work.at(m.from()).activations.empty();
    }
    return left_home > 0 && back_home == left_home;
}

struct time_span {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();

    void add(const trace_event& e) {
        first = std::min(first, e.started_ns);
        last = std::max(last, e.ended_ns);
    }
    void add(const time_span& other) {
        first = std::min(first, other.first);
        last = std::max(last, other.last);
    }
};

time_span span_of(const actor_work& work) {
    time_span span;
    for (const auto* list : {&work.forwards, &work.backwards, &work.updates})
        for (const trace_event& e : *list)
            span.add(e);
    for (const auto* list : {&work.activations, &work.gradients})
        for (const message& m : *list)
            span.add(m.event);
    return span;
}

// By actor, one number for all that an Activation or a Gradient joins: the actors of one run.
std::map<actor_address, std::size_t> runs_of(const all_work& work) {
    std::map<actor_address, std::size_t> run;
    for (const auto& [address, w] : work)
        run.emplace(address, run.size());
    const auto join = [&](const message& m) {
        const std::size_t from = run.at(m.from());
        const std::size_t to = run.at(m.to);
        for (auto& [address, number] : run)
            if (number == from)
                number = to;
    };
    for (const auto& [address, w] : work) {
        std::ranges::for_each(w.activations, join);
        std::ranges::for_each(w.gradients, join);
    }
    return run;
}

// Nodes remember several runs, each with a minibatch of this number: the latest is meant. An actor whose messages are lost
// is taken for one of it if it worked meanwhile.
void keep_latest_run(all_work& work) {
    const auto runs = runs_of(work);
    std::map<std::size_t, time_span> spans;
    for (const auto& [address, w] : work)
        spans[runs.at(address)].add(span_of(w));
    const auto latest =
        std::ranges::max_element(spans, {}, [](const auto& entry) { return entry.second.last; });
    if (latest == spans.end())
        return;
    const std::size_t kept = latest->first;
    const time_span meanwhile = latest->second;
    std::erase_if(work, [&](const auto& entry) {
        const auto& [address, w] = entry;
        const bool has_messages =
            !w.activations.empty() || !w.gradients.empty() || !w.sent_activation_versions.empty();
        return runs.at(address) != kept && (has_messages || span_of(w).last < meanwhile.first);
    });
}

} // namespace

const char* name_of(hop_kind kind) noexcept {
    switch (kind) {
    case hop_kind::forward:
        return "forward";
    case hop_kind::turn:
        return "turn";
    case hop_kind::backward:
        return "backward";
    }
    return "";
}

std::optional<std::uint64_t> stage_weights::lag() const {
    if (!updated || forward.size() != 1 || *updated < *forward.begin())
        return std::nullopt;
    return *updated - *forward.begin();
}

minibatch_path join_path(std::uint64_t minibatch, const std::vector<node_trace>& traces,
                         const all_names& names) {
    all_work work = sort_events(minibatch, traces, names);
    keep_latest_run(work);
    minibatch_path path;
    path.minibatch = minibatch;
    std::vector<std::pair<std::int64_t, actor_address>> order;
    std::int64_t last = 0;
    for (const auto& [address, w] : work) {
        add_hops(address, w, path.hops);
        if (!w.activations.empty())
            order.emplace_back(w.activations.front().event.sent_ns, address);
        else if (!w.forwards.empty() || !w.backwards.empty() || !w.updates.empty())
            order.emplace_back(std::numeric_limits<std::int64_t>::max(),
                               address); // its messages are lost
        for (const auto* list : {&w.forwards, &w.backwards, &w.updates})
            for (const trace_event& e : *list)
                last = std::max(last, e.ended_ns);
        for (const auto* list : {&w.activations, &w.gradients})
            for (const message& m : *list)
                last = std::max(last, m.event.ended_ns);
    }
    std::ranges::stable_sort(path.hops, {}, &hop::sent_ns);
    std::ranges::sort(order);
    for (const auto& [when, address] : order)
        path.stages.push_back(weights_of(address, work.at(address)));
    path.complete = is_complete(work);
    if (!path.hops.empty())
        path.total_ns = last - path.hops.front().sent_ns;
    return path;
}

void minibatch_range::add(const std::vector<trace_event>& events) {
    for (const trace_event& e : events) {
        if (e.kind != trace_kind::message || e.type != activation_type ||
            e.minibatch.value() == none)
            continue;
        oldest = std::min(oldest.value_or(none), e.minibatch.value());
        newest = std::max(newest.value_or(0), e.minibatch.value());
    }
}

} // namespace troupe::inspector

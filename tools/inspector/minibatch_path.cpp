#include "tools/inspector/minibatch_path.hpp"

#include <algorithm>
#include <limits>

namespace troupe::inspector {

namespace {

constexpr std::size_t stages_max = 1u << 16;

std::optional<std::uint64_t> version_of(const trace_event& e) {
    return e.state.value() == none ? std::nullopt : std::optional{e.state.value()};
}

// Gives each message, in the order in which an actor took them from its mailbox, the first pass that began after that and
// that no earlier one has. A node chooses how many there are of both: the position only moves on.
class pass_queue {
  public:
    explicit pass_queue(const std::vector<trace_event>& passes) : passes_{passes} {}

    const trace_event* claim(std::int64_t not_before_ns) {
        while (next_ < passes_.size() && passes_[next_].started_ns < not_before_ns)
            ++next_;
        return next_ < passes_.size() ? &passes_[next_++] : nullptr;
    }

  private:
    const std::vector<trace_event>& passes_; // by start
    std::size_t next_ = 0;
};

hop hop_of(hop_kind kind, const minibatch_message& m, const trace_event* pass) {
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
    std::vector<const trace_event*> open; // run forward and not yet backward
    auto next = work.forwards.begin();
    for (const trace_event& backward : work.backwards) {
        for (; next != work.forwards.end() && next->ended_ns <= backward.started_ns; ++next)
            open.push_back(&*next);
        const trace_event* forward = open.empty() ? nullptr : open.back();
        if (forward)
            open.pop_back();
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

// Second halves run in the order of the first ones.
void add_weight_halves(actor_address stage, const actor_work& work, std::vector<hop>& hops) {
    for (std::size_t k = 0; k < work.weight_halves.size(); ++k) {
        const trace_event& half = work.weight_halves[k];
        hop h;
        h.kind = hop_kind::weights;
        h.from = h.to = stage;
        h.sent_ns = half.started_ns;
        if (k < work.backwards.size() && work.weight_halves.size() == work.backwards.size()) {
            h.sent_ns = work.backwards[k].ended_ns;
            h.queue_ns = half.started_ns - h.sent_ns;
        }
        h.run_ns = half.ended_ns - half.started_ns;
        h.weights = version_of(half);
        hops.push_back(h);
    }
}

void add_hops(actor_address actor, const actor_work& work, std::vector<hop>& hops) {
    pass_queue forwards{work.forwards};
    for (const minibatch_message& m : work.activations) {
        hop h = hop_of(hop_kind::forward, m, forwards.claim(m.event.started_ns));
        if (!h.weights && work.sent_activation_versions.size() == 1)
            h.weights = *work.sent_activation_versions.begin();
        hops.push_back(h);
    }
    pass_queue backwards{work.backwards};
    for (const minibatch_message& m : work.gradients) {
        hop h = hop_of(hop_kind::backward, m, backwards.claim(m.event.started_ns));
        if (!h.weights && !work.activations.empty() && work.sent_gradient_versions.size() == 1)
            h.weights = *work.sent_gradient_versions.begin();
        hops.push_back(h);
    }
    if (!work.passes_on)
        add_turns(actor, work, hops);
    add_weight_halves(actor, work, hops);
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
    if (work.fetched)
        w.fetched = version_of(*work.fetched);
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
        if (w.forwards.size() != parts || w.backwards.size() != parts ||
            (w.updates.empty() && !w.fetched) || w.gradients.size() != (w.passes_on ? parts : 0))
            return false;
        for (const minibatch_message& m : w.activations)
            left_home += work.at(m.from()).activations.empty();
    }
    return left_home > 0 && back_home == left_home;
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
    case hop_kind::weights:
        return "weights";
    }
    return "";
}

std::optional<std::uint64_t> stage_weights::lag() const {
    if (!updated || forward.size() != 1 || *updated < *forward.begin())
        return std::nullopt;
    return *updated - *forward.begin();
}

minibatch_path join_path(std::uint64_t minibatch, const std::vector<node_trace>& traces,
                         const all_names& names, const known_runs& known) {
    const work_of_run run = work_on(minibatch, traces, names, known);
    const all_work& work = run.actors;
    minibatch_path path;
    path.minibatch = minibatch;
    path.source = run.source;
    path.other_sources = run.other_sources;
    std::vector<std::pair<std::int64_t, actor_address>> order;
    time_span span;
    for (const auto& [address, w] : work) {
        add_hops(address, w, path.hops);
        if (!w.activations.empty())
            order.emplace_back(w.activations.front().event.sent_ns, address);
        else if (!w.forwards.empty() || !w.backwards.empty() || !w.updates.empty())
            order.emplace_back(std::numeric_limits<std::int64_t>::max(),
                               address); // its messages are lost
        span.add(span_of(w));
    }
    std::ranges::stable_sort(path.hops, {}, &hop::sent_ns);
    std::ranges::sort(order);
    for (const auto& [when, address] : order)
        path.stages.push_back(weights_of(address, work.at(address)));
    path.complete = is_complete(work);
    if (!path.hops.empty())
        path.total_ns = span.last - path.hops.front().sent_ns;
    return path;
}

void minibatch_range::add(node_id node, const clock_offset& clock,
                          const std::vector<trace_event>& events) {
    for (const trace_event& e : events) {
        if (e.kind != trace_kind::message || e.type != activation_type || e.work.value() == none)
            continue;
        oldest = std::min(oldest.value_or(none), e.work.value());
        newest = std::max(newest.value_or(0), e.work.value());
        const std::int64_t at_ns = e.started_ns - clock.offset_ns;
        latest_ns = std::max(latest_ns.value_or(at_ns), at_ns);
        const actor_address stage{node, e.to_actor};
        if (latest.size() >= stages_max && !latest.contains(stage))
            continue; // a node may name as many as it likes
        const auto [known, is_new] = latest.try_emplace(stage);
        if (is_new || known->second.at_ns < at_ns)
            known->second = {e.work.value(), at_ns};
    }
}

} // namespace troupe::inspector

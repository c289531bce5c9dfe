// The work of every actor on one minibatch, from the traces of all nodes: the first half of minibatch_path.
//
// Pure. Times are on the observer's clock.
#pragma once

#include <algorithm>
#include <limits>
#include <set>

#include "schemas/params.capnp.h"
#include "schemas/pipeline.capnp.h"
#include "tools/inspector/rates.hpp"

namespace troupe::inspector {

inline const std::uint64_t activation_type = capnp::typeId<proto::Activation>();
inline const std::uint64_t gradient_type = capnp::typeId<proto::Gradient>();
inline const std::uint64_t fetched_type = capnp::typeId<proto::Fetched>();

// The events that one node recorded, with its clock.
struct node_trace {
    node_id node;
    clock_offset clock;
    std::vector<trace_event> events; // in any order; may include other minibatches
};

struct minibatch_message {
    trace_event event; // with aligned times
    actor_address to;

    actor_address from() const { return {event.from_node, event.from_actor}; }
};

// The work of one actor on the minibatch; each list is ordered by the time of its start.
struct actor_work {
    std::vector<minibatch_message> activations;
    std::vector<minibatch_message> gradients;
    std::vector<trace_event> forwards;
    std::vector<trace_event> backwards;     // whole, or their first halves
    std::vector<trace_event> weight_halves; // second halves of backward passes
    std::vector<trace_event> updates;
    std::optional<trace_event> fetched; // weights that a parameter server made with its gradients
    bool passes_on = false;             // another actor received an Activation from it
    std::set<std::uint64_t> sent_activation_versions;
    std::set<std::uint64_t> sent_gradient_versions;
};

using all_work = std::map<actor_address, actor_work>;

// Facts that tell runs with the same minibatch number apart.
struct known_runs {
    std::set<actor_address> stages; // stages of active runs
    node_id home;                   // node whose data source's run is preferred among active runs
};

struct work_of_run {
    all_work actors;
    actor_address source; // the run's data source; any data source if that is not known
    std::vector<actor_address> other_sources; // data sources of the other active runs
};

// The work in the latest run that has such a minibatch, or in the run at known.home.
work_of_run work_on(std::uint64_t minibatch, const std::vector<node_trace>& traces,
                    const all_names& names, const known_runs& known = {});

// The time from the first start to the last end.
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

time_span span_of(const actor_work& work);

} // namespace troupe::inspector

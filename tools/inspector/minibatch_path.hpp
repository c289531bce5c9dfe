// The way of one minibatch through a pipeline, put together from the traces of all nodes.
//
// The events of one minibatch are joined by what the pipeline protocol (schemas/pipeline.capnp) promises: an Activation
// leads to a forward pass of its receiver, a Gradient to a backward pass, the last stage turns around by itself, and an
// actor works on what arrives in order. No other knowledge about the run is needed. Where events are missing, what is
// there is joined and the path says that it is not complete.
//
// Pure. Times are nanoseconds on the observer's clock, see node_trace::clock.
#pragma once

#include <optional>
#include <set>

#include "tools/inspector/minibatch_work.hpp"

namespace troupe::inspector {

enum class hop_kind : std::uint8_t {
    forward,  // an Activation and the forward pass that it led to
    turn,     // the last stage's backward pass
    backward, // a Gradient and the backward pass that it led to, or the first half of it
    weights,  // the second half of a backward pass
};
const char* name_of(hop_kind kind) noexcept;

// A message on its way, and the device work that it led to.
struct hop {
    hop_kind kind = hop_kind::forward;
    actor_address from;
    actor_address to;
    std::int64_t sent_ns = 0; // turn: the end of the forward pass; weights: of the first half
    // Time from the sender's send to the receiver's mailbox; none for a turn and for weights.
    std::optional<std::int64_t> wire_ns;
    std::optional<std::int64_t> mailbox_ns; // time until the receiver looked at it
    // Time from arrival (turn and weights: from sent_ns) until the device began.
    std::optional<std::int64_t> queue_ns;
    // Time on the device; none for the Gradient that ends at the data source.
    std::optional<std::int64_t> run_ns;
    std::optional<std::uint64_t> weights; // version that the pass used
    std::uint64_t bytes = 0;
};

// The weight versions that one stage used for the minibatch.
struct stage_weights {
    actor_address stage;
    std::set<std::uint64_t> forward;       // one version, unless something is wrong
    std::set<std::uint64_t> backward;      // the same version
    std::optional<std::uint64_t> updated;  // the version that the update started from
    std::optional<std::uint64_t> produced; // the version that the update made
    // With a parameter server, instead: the version that came from it afterwards.
    std::optional<std::uint64_t> fetched;

    bool equal() const { return forward.size() == 1 && forward == backward; }
    bool known() const { return !forward.empty() && !backward.empty(); }
    // Updates that happened between this minibatch's forward pass and its own update.
    std::optional<std::uint64_t> lag() const;
};

struct minibatch_path {
    std::uint64_t minibatch = 0;
    std::vector<hop> hops;             // by time
    std::vector<stage_weights> stages; // in the order in which activations reached them
    // Every activation became a gradient that came back, and every stage has updated.
    bool complete = false;
    std::int64_t total_ns = 0;                // time from the first send to the last event
    actor_address source;                     // data source of the path's run
    std::vector<actor_address> other_sources; // those of other active runs with such a minibatch
};

// The path in the latest run that has such a minibatch, or in the run at known.home.
minibatch_path join_path(std::uint64_t minibatch, const std::vector<node_trace>& traces,
                         const all_names& names, const known_runs& known = {});

// The numbers of the minibatches among some events, from the pipeline's activations alone.
struct minibatch_range {
    struct arrival {
        std::uint64_t minibatch = 0;
        std::int64_t at_ns = 0;
    };

    std::optional<std::uint64_t> oldest;
    std::optional<std::uint64_t> newest;
    // The latest arrival at each stage, by time: an earlier or parallel run may have larger numbers.
    std::map<actor_address, arrival> latest;
    std::optional<std::int64_t> latest_ns; // time of the latest of all

    void add(node_id node, const clock_offset& clock, const std::vector<trace_event>& events);
};

} // namespace troupe::inspector

// A seeded network in one thread: endpoints of many simulated nodes, with faults and virtual time.
//
// Packets between nodes are delayed, dropped, duplicated and (through unequal delays) reordered. On top of them every link
// runs a small sequence, acknowledgement and retransmission layer (sim_link.hpp), so that endpoints keep their contract
// under faults or report the peer down. Without faults it is the in-process transport.
//
// A frame is passed by pointer: its tensors stay in the sender's pool, which must outlive the network.
//
// Determinism: all events follow from the seed, the options and the order of calls.
// Threads: one, which also runs the event queue; listeners are called from within it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/endpoint.hpp"
#include "transport/send_window.hpp"
#include "transport/sim/event_queue.hpp"

namespace troupe {

// Faults of packets in one direction between two nodes.
struct sim_faults {
    duration delay_min{}; // each packet draws its delay from [delay_min, delay_max]
    duration delay_max{};
    double drop = 0;             // probability
    double duplicate = 0;        // probability; the copy draws its own delay
    double bytes_per_second = 0; // packets queue at this rate; 0: no bound
};

struct sim_network_options {
    std::uint64_t seed = 1;
    sim_faults faults; // of links without faults of their own
    duration connect_timeout = std::chrono::seconds{5};
    // The peer is down after this time without an acknowledgement.
    duration give_up_after = std::chrono::seconds{30};
    send_bounds bounds;
};

struct sim_node_options {
    // The node must be unique in the network; the address is any string.
    peer_info self;
    std::string key; // nodes with different keys refuse each other
    send_bounds bounds;
};

// Counts over the whole network.
struct sim_network_statistics {
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_dropped = 0; // by drop probability and by cuts
    std::uint64_t packets_duplicated = 0;
    std::uint64_t packets_retransmitted = 0;
    std::uint64_t packets_out_of_order = 0; // early or duplicate
};

class sim_network {
  public:
    // `events` must outlive the network and its endpoints.
    sim_network(event_queue& events, sim_network_options options);
    ~sim_network();

    // An endpoint must not outlive the network.
    std::unique_ptr<endpoint> make_endpoint(sim_node_options options);

    void set_faults(const sim_faults& faults); // links without faults of their own
    void set_faults(node_id from, node_id to, const sim_faults& faults); // one direction

    // Every packet between cut nodes is dropped, in both directions, until healed.
    void cut(node_id a, node_id b);
    void heal(node_id a, node_id b);
    void heal(); // all cuts

    // The process dies at once: no goodbye, and no more calls of its listener. Its host responds for it, as an operating
    // system does: peers learn of the loss one delay later, if that packet arrives.
    void kill(node_id node);
    // The machine loses power: as kill, but without any response.
    void power_off(node_id node);

    // Stops the process: packets still reach its host, but its listener is not called until it is resumed.
    void stop(node_id node);
    void resume(node_id node);

    sim_network_statistics statistics() const;

    struct state; // internal

  private:
    std::shared_ptr<state> state_;
};

} // namespace troupe

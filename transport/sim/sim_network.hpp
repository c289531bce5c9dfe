// A seeded network in one thread: endpoints of many simulated nodes, faults beneath them, virtual
// time.
//
// Packets between nodes are delayed, dropped, duplicated and (through unequal delays) reordered.
// Above them every link runs a small sequence, acknowledgement and retransmission layer
// (sim_link.hpp), so that endpoints keep their contract under faults, or report the peer down. With
// no faults it is the in-process transport.
//
// A frame is handed over by pointer: its tensors stay in the sender's pool, which must outlive the
// network.
//
// Determinism: everything that happens follows from the seed, the options and the order of calls.
// Threads: one, which also runs the event queue; listeners are called from within it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/endpoint.hpp"
#include "transport/send_window.hpp"
#include "transport/sim/event_queue.hpp"

namespace troupe {

// What befalls packets that travel one way between two nodes.
struct sim_faults {
    duration delay_min{}; // each packet draws its delay from [delay_min, delay_max]
    duration delay_max{};
    double drop = 0;             // probability
    double duplicate = 0;        // probability; the copy draws its own delay
    double bytes_per_second = 0; // packets queue behind each other at this rate; 0: no bound
};

struct sim_network_options {
    std::uint64_t seed = 1;
    sim_faults faults; // of every link that has none of its own
    duration connect_timeout = std::chrono::seconds{5};
    duration give_up_after =
        std::chrono::seconds{30}; // without any acknowledgement: the peer is down
    send_bounds bounds;
};

struct sim_node_options {
    peer_info self;  // node must be unique in the network, address is any string
    std::string key; // nodes with unequal keys refuse each other
    send_bounds bounds;
};

// Over the whole network.
struct sim_network_statistics {
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_dropped = 0; // by drop, by cuts
    std::uint64_t packets_duplicated = 0;
    std::uint64_t packets_retransmitted = 0;
    std::uint64_t packets_out_of_order = 0; // arrived before their turn or a second time
};

class sim_network {
  public:
    // `events` must outlive the network and its endpoints.
    sim_network(event_queue& events, sim_network_options options);
    ~sim_network();

    // An endpoint must not outlive the network.
    std::unique_ptr<endpoint> make_endpoint(sim_node_options options);

    void set_faults(const sim_faults& faults);                           // links without their own
    void set_faults(node_id from, node_id to, const sim_faults& faults); // one direction

    // Between cut nodes every packet is dropped, both ways, until healed.
    void cut(node_id a, node_id b);
    void heal(node_id a, node_id b);
    void heal(); // all cuts

    // The process dies at once: no goodbye, its listener hears nothing more. Its host answers for
    // it, as an operating system does: peers learn of the loss one delay later, if that packet
    // arrives.
    void kill(node_id node);
    // The machine loses power: as kill, but nobody answers.
    void power_off(node_id node);

    // A stopped process: packets still reach its host, its listener is not called until it is
    // resumed.
    void stop(node_id node);
    void resume(node_id node);

    sim_network_statistics statistics() const;

    struct state; // internal

  private:
    std::shared_ptr<state> state_;
};

} // namespace troupe

// Internals of the simulated network; included by its .cpp files only.
//
// A connection is opened with connect and answered with welcome; both ends then know each other. Of the two nodes, the one
// with the lower id decides: it accepts the first connection of a pair (the item `up`, first on its stream) and resets
// every other. So two nodes that connect to each other at the same time end up with one connection.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "schemas/base/random.hpp"
#include "transport/named_places.hpp"
#include "transport/sim/sim_link.hpp"
#include "transport/sim/sim_network.hpp"

namespace troupe::sim {

struct packet {
    enum class kind : std::uint8_t { connect, welcome, item, acknowledge, probe, reset };
    kind what;
    std::uint64_t link; // number of the connection
    node_id from;
    node_id to;
    std::string key; // connect
    std::uint64_t sequence = 0;
    sim::item item;
    acknowledgement heard;
    std::optional<error> why; // reset; none: a duplicate connection
};

// One end of a connection.
struct link {
    enum class phase : std::uint8_t {
        connecting, // connect sent, nothing heard
        half_open,  // known at both ends, not yet accepted
        up,
        closing, // goodbye sent; the host delivers the remaining items
    };

    link(std::uint64_t number_, node_id peer_, const send_bounds& bounds)
        : number{number_}, peer{peer_}, window{bounds} {}

    std::uint64_t number;
    node_id peer;
    phase state = phase::half_open;
    // The argument of connect(); empty on the accepting end.
    std::string address;
    reliable_sender out;
    reliable_receiver in;
    send_window window;
    event_id retransmit;
    event_id deadline;        // of the handshake
    unsigned backoff = 0;     // retransmissions since the last sign of the peer
    time_point waiting_since; // start of the wait for an acknowledgement
};

class network;

// A node and the state of its endpoint.
class host {
  public:
    enum class life : std::uint8_t { fresh, running, closed, dead, off };

    host(network& net, sim_node_options options) : net_{net}, options_{std::move(options)} {}

    result<void> start(endpoint_listener& listener);
    void connect(const std::string& address);
    send_status send(node_id peer, frame_ptr f);
    named_places* places_of(node_id peer); // null if it is not up
    void disconnect(node_id peer, error why);
    void close();

    void arrive(packet p);
    void hear(std::uint64_t number); // the link's peer is alive
    void die(life how);
    void stop() { stopped_ = true; }
    void resume();

    const sim_node_options& options() const noexcept { return options_; }
    const endpoint_statistics& statistics() const noexcept { return statistics_; }
    life state() const noexcept { return life_; }
    // Also true while closing.
    bool acts() const noexcept { return life_ < life::dead && !stopped_; }

  private:
    // Runs an action of the process, now or when it is resumed; never once it is gone.
    void in_process(std::function<void()> what);
    // Queues a call of the listener: calls are in order, and never from within the caller of an endpoint's method.
    void report(std::function<void()> what);
    void deliver_reports();

    void admit(packet p);
    void connect_arrived(const packet& p);
    void welcome_arrived(std::uint64_t number);
    void item_arrived(packet p);
    void acknowledge_arrived(const packet& p);
    void reset_arrived(const packet& p);

    void decide(link& l);
    void go_up(link& l);
    void consume(std::uint64_t number, const item& i);
    void push(link& l, item i);
    void transmit_item(const link& l, std::uint64_t sequence);
    void arm_retransmit(link& l);
    void retransmit(std::uint64_t number);
    void handshake_expired(std::uint64_t number);
    void acknowledge(const link& l);
    void reset(const link& l, std::optional<error> why);
    // Forgets the link and reports its end: peer_down, connect_failed or nothing.
    void end(std::uint64_t number, std::optional<error> why);
    void forget(std::uint64_t number);
    bool has_link_to(node_id peer) const; // known at both ends
    link* find(std::uint64_t number);
    packet make_packet(packet::kind what, const link& l) const;

    network& net_;
    sim_node_options options_;
    endpoint_listener* listener_ = nullptr;
    life life_ = life::fresh;
    bool stopped_ = false;
    bool arriving_ = false;                     // a packet is being handled; reports follow it
    std::deque<std::function<void()>> held_;    // actions held while stopped
    std::deque<std::function<void()>> reports_; // calls of the listener
    std::map<std::uint64_t, link> links_;
    std::map<node_id, std::uint64_t> up_; // peer -> link
    std::map<node_id, named_places> places_;
    std::set<std::uint64_t> ended_; // ended links; late packets must not revive them
    endpoint_statistics statistics_;
};

// Transmits packets between hosts, with faults.
class network {
  public:
    network(event_queue& events, sim_network_options options)
        : events_{events}, options_{std::move(options)}, random_{options_.seed, 0x73696d6e6574u} {}

    void transmit(packet p);
    duration round_trip_max(node_id a, node_id b) const;   // including packets queued now
    std::uint64_t bytes_moved(node_id a, node_id b) const; // packets as far as they have come
    std::uint64_t next_link() noexcept { return ++links_total_; }
    host* host_of(node_id node);
    host* listening_at(const std::string& address);
    event_queue& events() noexcept { return events_; }
    const sim_network_options& options() const noexcept { return options_; }

    std::map<node_id, std::shared_ptr<host>> hosts;
    std::map<std::pair<node_id, node_id>, sim_faults> faults;
    std::set<std::pair<node_id, node_id>> cuts; // lower id first
    sim_network_statistics statistics;
    void set_default_faults(const sim_faults& f) { options_.faults = f; }

  private:
    const sim_faults& faults_between(node_id from, node_id to) const;
    void tell_alive(const packet& p, time_point begin, time_point end);

    event_queue& events_;
    sim_network_options options_;
    random_stream random_;
    std::uint64_t links_total_ = 0;
    std::map<std::pair<node_id, node_id>, time_point> busy_until_; // for links with a bandwidth
    std::map<std::pair<node_id, node_id>, double> bytes_taken_;    // by each direction
};

} // namespace troupe::sim

struct troupe::sim_network::state : sim::network {
    using network::network;
};

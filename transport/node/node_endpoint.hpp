// The endpoint between processes: frames over UCX active messages, by shared memory within a machine, and between machines
// by RDMA where both have devices for it, else over TCP connections of our own (routes.hpp, transport/tcp/).
//
// A TCP connection per pair of peers carries the handshake (transport/handshake/) and then stays open: its end is the sign
// that the peer's process has died, and a goodbye on it that the peer has closed in order. Another one carries frames,
// where they travel over TCP. Large tensors are received straight into memory of the pool.
//
// A node owns one progress thread. It polls for a moment after each piece of work and then sleeps on the event descriptors
// of UCX, the TCP sockets and a wake-up descriptor. Listeners are called on this thread.
//
// A stopped (SIGSTOP) or silent peer is not noticed here; the cluster's heartbeats notice it and disconnect.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "transport/endpoint.hpp"
#include "transport/handshake/cluster_keys.hpp"
#include "transport/handshake/identity.hpp"
#include "transport/link_settings.hpp"
#include "transport/send_window.hpp"
#include "transport/tcp/sealed_stream.hpp"

namespace troupe {

// The transports that frames may travel over.
enum class link_transports : std::uint8_t {
    automatic, // the best one for each peer
    shm,       // shared memory only: peers on other machines are refused
    tcp,       // TCP only
    rdma,      // RDMA only
};

// Frames over TCP that are sealed. Both nodes of a link must come to the same.
enum class sealing : std::uint8_t {
    between_machines, // all that leave the machine
    never,
    always, // also on loopback addresses
};

// The means by which a process reaches the nodes of a cluster.
struct link_access {
    cluster_keys keys; // with one for its role; none at all for nodes on loopback addresses
    link_transports transports = link_transports::automatic;
    sealing seals = sealing::between_machines;
};

struct endpoint_options {
    // The name must be set; the address is where to listen, HOST:PORT, port 0 for a free one. The node's id is that of the
    // identity, which is drawn for each endpoint.
    peer_info self;
    node_identity identity;
    // At all times one for the node's role; none at all on a loopback address only.
    std::shared_ptr<const key_ring> keys = std::make_shared<key_ring>(cluster_keys{});
    link_settings links; // pool and time must be set
    link_transports transports = link_transports::automatic;
    sealing seals = sealing::between_machines;
    sealed_stream::key_lifetime keys_live = {};         // of sealed frames
    duration connect_timeout = std::chrono::seconds{5}; // from connect() to peer_up
    // Time for a peer to identify itself, once connected.
    duration handshake_timeout = std::chrono::seconds{3};
    // Time for which the progress thread polls before it sleeps.
    duration spin = std::chrono::microseconds{30};
    // The longest yield with which the thread goes on polling: after a longer one, another thread keeps the processor.
    duration yield_max = std::chrono::milliseconds{1};
    // Incoming connections that are not up; which one goes for one more stands in README.md.
    std::size_t handshakes_max = 64;
    send_bounds bounds;
    // For people: a sentence for each action of the endpoint towards unknown peers. Called on the progress thread and must
    // only pass it on, without blocking. May be empty.
    std::function<void(const std::string&)> log = {};
};

// Checks that this machine has the transports asked for, as far as possible without an endpoint (link_means.cpp): else
// errc::usage.
result<void> check_transports(link_transports asked);

// Errors: errc::usage for an address that is not HOST:PORT or needs a key, and for RDMA without a device; errc::io if UCX
// cannot start. The port is opened by start().
result<std::unique_ptr<endpoint>> make_node_endpoint(endpoint_options options);

} // namespace troupe

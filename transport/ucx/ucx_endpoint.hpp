// The endpoint between processes: frames over UCX active messages, through shared memory within a
// machine, and between machines by RDMA where both have devices for it, else TCP (ways.hpp).
//
// A TCP connection per pair of peers carries the handshake (transport/handshake/) and then stays
// open: its end is the sign that the peer's process has died, and a goodbye on it that the peer has
// closed in order. Frames go over UCX, small ones with the message, large tensors straight into
// memory of the pool.
//
// A node owns one progress thread. It spins for a moment after each piece of work and then sleeps
// on the event descriptors of UCX, the TCP sockets and a wake-up of its own. Listeners are called
// on this thread.
//
// A stopped (SIGSTOP) or silent peer is not noticed here; the heartbeats of the cluster notice it
// and disconnect.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "schemas/base/clock.hpp"
#include "transport/endpoint.hpp"
#include "transport/send_window.hpp"

namespace troupe {

// What UCX may send over.
enum class ucx_transports : std::uint8_t {
    automatic, // what is best for each peer
    shm,       // shared memory alone: peers on other machines are refused
    tcp,       // TCP alone
    rdma,      // RDMA alone
};

struct ucx_options {
    peer_info self;  // node and name must be set; address: where to listen, HOST:PORT, port 0 picks
                     // a free one
    std::string key; // the cluster's; may be empty on a loopback address only
    memory_pool* pool = nullptr; // tensors that arrive; must outlive every frame received
    const clock* time = nullptr; // for time-outs; must outlive the endpoint
    ucx_transports transports = ucx_transports::automatic;
    duration connect_timeout = std::chrono::seconds{5}; // of connect(), from the call to peer_up
    duration handshake_timeout =
        std::chrono::seconds{3};                      // for a peer to say who it is, once connected
    duration drain_timeout = std::chrono::seconds{5}; // of close(), for what is queued
    duration memory_timeout =
        std::chrono::seconds{30}; // for the pool to have room for a frame; then its peer is lost
    duration spin =
        std::chrono::microseconds{30}; // how long the progress thread polls before it sleeps
    duration yield_max =
        std::chrono::milliseconds{1}; // a yield beside who shares a processor, not who keeps it
    std::uint64_t busy_rounds =
        1000; // of progress for which a peer that has had news is asked in each; then when it is its turn
    std::size_t handshakes_max =
        64; // connections that came in and are not up; for one more the oldest that has not proven the key is closed
    send_bounds bounds;
    std::uint64_t backlog_bytes_max = limits::peer_backlog_bytes_max; // of one peer
    // For people: what the endpoint does with strangers, a sentence each. On the progress thread; must only hand it on. May
    // be empty.
    std::function<void(const std::string&)> log = {};
};

// Whether this machine has what is asked for, as far as shows without an endpoint (ucx_means.cpp): errc::usage otherwise.
result<void> check_transports(ucx_transports asked);

// Errors: errc::usage for an address that is not HOST:PORT or needs a key, and for RDMA where there is no device for it;
// errc::io where UCX cannot start. The port is opened by start().
result<std::unique_ptr<endpoint>> make_ucx_endpoint(ucx_options options);

} // namespace troupe

// A peer that holds the key and then does what it likes, by hand: for what no rightful node sends.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tests/conformance/transport_world.hpp"
#include "transport/tcp/control_connection.hpp"
#include "transport/ucx/memory_mark.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace troupe::conformance {

class hostile_peer {
  public:
    // What it says that it can use, and does.
    struct claims {
        ucx_route route = ucx_route::shared_memory; // or TCP
        bool names_its_memory = true;               // else what it never had
        bool sees_memory = true;                    // the victim's
    };

    // Connects to the victim, or has it connect; proves the key and says hello as node `id`.
    hostile_peer(ucx_world& w, node& victim, std::uint64_t id,
                 handshake_side side = handshake_side::connector)
        : hostile_peer{w, victim, id, side, claims{}} {}
    hostile_peer(ucx_world& w, node& victim, std::uint64_t id, handshake_side side, claims says);
    ~hostile_peer();
    hostile_peer(const hostile_peer&) = delete;
    hostile_peer& operator=(const hostile_peer&) = delete;

    // Reads what comes on the control connection into `arrived`; fails the test if `done` takes too long.
    void advance_until(const std::function<bool()>& done);

    // Sends an active message, or bytes of its stream, as they are.
    void send(std::span<const std::byte> header, std::span<const std::byte> data);

    // A second connection to the victim that has proven the key and announces frames with this token.
    file_descriptor second_connection(const wire::connection_token& token);

    // Header and words of a frame as this peer would rightly send it.
    std::vector<std::byte> rightful(const frame& f, std::uint64_t sequence) const;

    std::unique_ptr<control_connection> control;
    std::vector<control_message> arrived;
    bool is_seen = false;                // by the victim, as it says
    std::vector<std::byte> their_worker; // its address

  private:
    file_descriptor connection_with(node& victim, handshake_side side);
    template <class Message>
    Message exchange(const control_message& mine);

    ucx_world& world_;
    own_memory_mark mark_;
    std::unique_ptr<ucx_context> context_;
    std::unique_ptr<ucx_worker> worker_;
    ucp_ep_h ep_ = nullptr;
    socket_address victim_; // where it listens
    file_descriptor stream_;
};

} // namespace troupe::conformance

// A peer that holds the key and then does what it likes, by hand: for what no rightful node sends.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tests/conformance/transport_world.hpp"
#include "transport/node/memory_mark.hpp"
#include "transport/node/routes.hpp"
#include "transport/tcp/control_connection.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace troupe::conformance {

// The keys of the nodes of the tests.
inline const std::vector<cluster_key> test_keys{{"a key for the tests"}};

// A new one whose node's id is lower than this, or higher.
node_identity identity_beside(node_id other, bool is_lower);

// Somebody at an address of its own, to whom the node connects; and somebody who connects to the node.
file_descriptor connected_from(world& w, node& from);
file_descriptor connected_to(const node& to);

// Who holds a key and says of itself what the test lets it say.
class talker {
  public:
    talker(node_world& w, file_descriptor connected, handshake_side side,
           const std::vector<cluster_key>& keys = test_keys);

    // The hello of this identity with its proof, of a node that sends over TCP.
    hello_message hello_of(const node_identity& identity) const;
    void say(const control_message& m) { wire_.send(m); }
    void hear(std::size_t messages);
    bool is_left(); // once the other side has closed

    std::vector<control_message> arrived;

  private:
    void wait_for(const std::function<bool()>& done);

    node_world& world_;
    handshake_side side_;
    control_connection wire_;
};

class hostile_peer {
  public:
    // What it says that it can use, and does.
    struct claims {
        link_route route = link_route::shared_memory; // or TCP
        bool names_its_memory = true;                 // else what it never had
        bool sees_memory = true;                      // the victim's
        worker_kind kind{};                         // of its worker, as it says; zero: it says none
        bool has_lower_id = false;                  // than the victim: the verdict is its
        bool alters_its_worker = false;             // 7 bytes of the address
        std::optional<node_identity> identity = {}; // in the place of one with such an id
    };

    // Connects to the victim, or has it connect; proves the key and says hello.
    hostile_peer(node_world& w, node& victim, handshake_side side = handshake_side::connector)
        : hostile_peer{w, victim, side, claims{}} {}
    hostile_peer(node_world& w, node& victim, handshake_side side, claims says);
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

    const node_identity identity;
    std::unique_ptr<control_connection> control;
    std::vector<control_message> arrived;
    bool is_seen = false;                // by the victim, as it says
    std::vector<std::byte> their_worker; // its address

  private:
    template <class Message>
    Message exchange(const control_message& mine);

    node_world& world_;
    own_memory_mark mark_;
    std::unique_ptr<ucx_context> context_;
    std::unique_ptr<ucx_worker> worker_;
    ucp_ep_h ep_ = nullptr;
    socket_address victim_; // where it listens
    file_descriptor stream_;
};

} // namespace troupe::conformance

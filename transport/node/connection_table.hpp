// The control connections of a node, from when they are begun or taken in, and what can be asked of all of them together.
//
// Threads: the progress thread. Ownership: of the connections, and a reference to the peer of each.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/time_source.hpp"
#include "transport/node/routes.hpp"
#include "transport/peer_state.hpp"
#include "transport/tcp/control_connection.hpp"

namespace troupe {

// In order; the node with the higher id awaits a verdict, which the other one gives.
enum class connection_phase : std::uint8_t {
    proof,
    frames, // a connection for frames: what it is for has yet to be written
    hello,  // the peer's hello is awaited; likewise for the next three
    sight,
    worker, // over UCX alone
    verdict,
    // Declared duplicate of a connection that may not be up yet; dropped once that is.
    duplicate,
    up,
};

// The peer's side, as its hello says.
struct peer_claims {
    std::string name; // of itself, before any of it is believed
    link_routes routes{};
    bool has_other_ucx = false; // another version than this process
    bool seals = false;         // it would seal frames over TCP
};

struct peer_connection {
    std::uint64_t id = 0;
    std::unique_ptr<control_connection> wire;
    handshake_side side{};
    connection_phase state = connection_phase::proof;
    std::string target;  // argument of connect()
    std::string host;    // where one that has come in comes from
    std::string network; // the same, as shares are counted by it (network_of)
    time_point heard_at; // when it began, or its last message came
    time_point deadline;
    std::shared_ptr<peer_state> peer; // set from this side's hello on
    std::uint64_t first =
        0;            // of a connection for frames that this side has begun: the pair's first one
    peer_claims said; // set from sight on; likewise the next one
    bool sees_memory = false; // this node sees the peer's memory mark and has a worker for it there
    bool polls_for_writing = false;
    bool has_given_up = false; // the peer, as it says

    bool is_up() const noexcept { return state == connection_phase::up; }
    // It has come in, and is not up.
    bool is_waiting() const noexcept { return side == handshake_side::acceptor && !is_up(); }
};

class connection_table {
  public:
    peer_connection& add(peer_connection c) {
        return all_.insert_or_assign(c.id, std::move(c)).first->second;
    }
    // Takes it out, with the connection for frames that belongs to it.
    peer_connection take(std::uint64_t id);
    // All that are not up, but for connections for frames that this side has begun. Newcomers have come in, and have not
    // said what they are for.
    void erase_unfinished(bool also_newcomers);

    peer_connection* find(std::uint64_t id);
    peer_connection* find(const peer_state& peer);
    peer_connection* find_up(node_id node);
    // The one that is up and whose peer has yet to make the connection for frames, which names it by this token.
    peer_connection* find_awaiting(const wire::connection_token& token);
    bool has_frames_under_way(std::uint64_t first) const;
    // True if the pair has another connection, accepted or about to be.
    bool has_other(const peer_connection& c) const;
    std::size_t waiting() const;
    // The longest silent of those that wait without proof of the key, in the network that has most of them; and of those
    // with proof.
    peer_connection* longest_unproven();
    peer_connection* longest_silent();
    // The longest silent of those that wait and are more than `share`: of one network, which is not this one, or by one key
    // for observers alone or for runs alone.
    peer_connection* beyond_share(std::size_t share, const std::string& network);
    std::vector<std::uint64_t> duplicates_of(node_id node) const;
    // Connections that are not up: those past their deadlines, and the next deadline.
    std::vector<std::uint64_t> expired(time_point now) const;
    std::optional<time_point> next_deadline() const;

  private:
    template <class Counts, class Group>
    peer_connection* of_largest(std::size_t share, Counts counts, Group group_of);

    std::map<std::uint64_t, peer_connection> all_;
};

} // namespace troupe

// The endpoint of a node: sends frames to its peers and receives theirs, over any transport.
//
// The contract of every transport (tests/conformance runs one suite over all of them):
//   - A peer is reported up once, after both sides have proven that they hold the cluster's key, and down once.
//   - Frames from one peer arrive in the order in which it sent them, each once, or the peer goes down. A frame is
//     reported whole, its tensors in memory of the node's pool or where the node has said (expect).
//   - Unreadable input is never a crash: a malformed, oversized or unauthenticated message is counted and costs its
//     sender the connection.
//   - send never blocks. Above a soft bound of queued bytes it returns `congested`, and peer_writable follows once the
//     queue has drained to half the bound; the runtime parks the sending actors between the two. Above the hard
//     bound the peer is given up.
//
// Threads: the methods of `endpoint` are thread-safe and may be called from within a listener's. The listener's methods are
// called one at a time, on a thread of the endpoint (the simulated network's caller); they must not block.
// Ownership: a frame passed to send() is shared until its last byte has been sent.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/base/error.hpp"
#include "schemas/base/ids.hpp"
#include "transport/frame/frame.hpp"

namespace troupe {

enum class peer_role : std::uint8_t {
    member,   // a node that may run actors of a run
    client,   // a run: places actors on members, runs its own trainer
    observer, // an inspector: reads traces and status; nothing depends on it
};

// A node's description of itself, sent after it has proven the key.
struct peer_info {
    node_id node;
    std::string name;    // for people; unique within a cluster
    std::string address; // HOST:PORT at which it listens
    peer_role role = peer_role::member;
    // For people: what frames to it are sent over, as "shared memory"; empty without a link.
    std::string over{};
};

enum class send_status : std::uint8_t {
    accepted,
    congested, // accepted; stop sending to this peer until peer_writable
    gone,      // not accepted: no such peer (any more)
    too_large, // not accepted: past a limit of transport/frame/wire.md; the peer stays up
};

// Memory for the tensors of a frame that is to come.
struct frame_place {
    place_name name;
    tensor memory; // of the host
};

class endpoint_listener {
  public:
    virtual ~endpoint_listener() = default;

    virtual void peer_up(const peer_info& peer) = 0;
    virtual void frame_arrived(node_id from, frame_ptr f) = 0;
    virtual void peer_writable(node_id peer) = 0;
    // Called from time to time while a frame from the peer takes long to arrive, unless its transfer is stuck: the peer is
    // alive. For listeners that detect silent peers.
    virtual void peer_alive(node_id) {}
    // Called exactly once for every peer_up, unless this endpoint is closed first; no call about this peer follows. `why`
    // is errc::cancelled if the peer closed in order (everything it had sent has arrived), errc::lost if it vanished,
    // errc::refused if it gave this node up. It calls the peer "it": callers that pass it on name the node.
    virtual void peer_down(node_id peer, const error& why) = 0;
    // A connect() did not lead to peer_up: unreachable, refused (wrong key), protocol (not a Troupe node). `why` need not
    // name the address: callers that pass it on do.
    virtual void connect_failed(const std::string& address, const error& why) = 0;
};

struct endpoint_statistics {
    std::uint64_t frames_sent = 0;
    std::uint64_t frames_received = 0;
    std::uint64_t bytes_sent = 0; // words and tensors
    std::uint64_t bytes_received = 0;
    std::uint64_t frames_malformed = 0;   // received but unreadable; the peer is given up
    std::uint64_t handshakes_refused = 0; // wrong key, garbage, too slow
};

class endpoint {
  public:
    virtual ~endpoint() = default;

    // Begins to listen and to report to `listener`, which must outlive close(). errc::io with the address if the port is in
    // use. Call once.
    virtual result<void> start(endpoint_listener& listener) = 0;

    // The address at which this endpoint listens, with the actual port; valid after start.
    virtual std::string address() const = 0;

    // Tries to reach the node at HOST:PORT within the configured time-out. Ends in peer_up or connect_failed; a second
    // connection between the same two nodes is dropped silently. Does not block: addresses come from peers too, so HOST is
    // a number (or what address() returns); names from users must be resolved before.
    virtual void connect(const std::string& address) = 0;

    virtual send_status send(node_id peer, frame_ptr f) = 0;

    // Receives the peer's next frame that bears this name and has as many bytes of tensors in this memory instead of the
    // pool's, unless its message is so long that it is sent with the tensors (transport/frame/wire.md). False, and nothing
    // is kept, if the peer is not up, if the transport would save no copy by it, and for memory that is not the host's or
    // does not begin at a multiple of sizeof(float) bytes. A frame whose tensors are of a type that may not lie there costs
    // its sender the connection.
    //
    // From now on the peer may write into the memory at any time, and nobody else may use it, until a frame is reported
    // whose tensors lie there (the caller compares addresses): after that one no other is received there.
    virtual bool expect(node_id, frame_place) { return false; }
    // Takes back all places of this peer that are named for the actor, as peer_down does with all of this peer: no further
    // frame is received there. One that is being received has its place already and may still write there, also for a while
    // after peer_down, and nobody is told when that has ended. So memory that has been named and in which no frame has been
    // reported may be let go of, but neither read nor put to another use.
    virtual void forget(node_id, actor_number) {}

    // Bytes that have moved between this node and the peer so far, in either direction, for telling a slow link from an idle
    // one: those of frames on their way count as far as they have come, over UCX once the frame is whole. Differences mean
    // something, and only while the peer is up; 0 if it is not.
    virtual std::uint64_t bytes_moved(node_id) const { return 0; }

    // Gives a peer up: peer_down with `why` follows here. The other side is told, and reports errc::refused: "it gave up
    // the connection: WHY".
    virtual void disconnect(node_id peer, error why) = 0;

    // Sends queued frames (for at most the configured drain time), then ends all connections: peers see an orderly down,
    // this side reports nothing. No listener method runs after it has returned. Idempotent. Must not be called from within
    // a listener's method.
    virtual void close() = 0;

    virtual endpoint_statistics statistics() const = 0;
};

} // namespace troupe

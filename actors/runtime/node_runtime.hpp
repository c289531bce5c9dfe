// The runtime of one node: its actors, their threads, and the frames between them and to other
// nodes.
//
//     node_runtime node{{.node = identity.node(), .name = "a", .time = &time, .timers = &timers, .network = &ucx}};
//     const actor_address stage = node.spawn<stage_actor>("stage 0", options); // include actor.hpp for this
//     node.start();                                                            // listen, take part
//     ...
//     node.stop();
//
// A frame goes to a local actor's mailbox by pointer, or through a proxy and the endpoint to
// another node; the sender does not know which. Frames from one actor to another arrive in the
// order in which they were sent. A frame to an actor that does not exist (any more) is answered by
// Rejected.
//
// Threads: all methods are thread-safe except start and stop, which belong to the owner, on any one
// thread, and must not be called from an actor. Under scheduling::stepped nothing runs by itself: the owner calls
// run_one, and everything belongs to its thread. Ownership: time source, timers and endpoint must outlive
// the runtime. Devices may outlive it: what they post then is dropped. Errors: a handler that
// throws is a bug; its actor ends, and everybody who watches it is told.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/runtime/fact_board.hpp"
#include "actors/runtime/milestone_board.hpp"
#include "actors/runtime/timers.hpp"
#include "actors/runtime/trace.hpp"
#include "actors/runtime/well_known.hpp"
#include "actors/runtime/worker_board.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/ids.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/time_source.hpp"
#include "transport/endpoint.hpp"
#include "transport/frame/frame.hpp"

namespace troupe {

class message_catalog;
class node_core; // private: node_core.hpp

enum class scheduling : std::uint8_t {
    threads, // actors run on worker threads, and on the endpoint's where a frame of a peer wakes them
    stepped, // actors run one message at a time, when the owner says so: the simulator
};

struct node_options {
    node_id node;                      // not 0
    std::string name;                  // name for people; unique within a cluster
    const time_source* time = nullptr; // required
    timer_service* timers = nullptr;   // required
    endpoint* network = nullptr;       // null: a node without peers
    // The messages of the families whose actors the node has (message_types.hpp); null: only those of every node.
    std::shared_ptr<const message_catalog> messages;
    scheduling mode = scheduling::threads;
    std::size_t threads = 0; // workers; 0: one per core
    std::size_t trace_events = limits::trace_events_default;
    bool tracing = true; // false only to measure what tracing costs
};

// One line of the list of actors.
struct actor_status {
    actor_address address;
    std::string name;      // of an actor of a run "RUN/ROLE"
    std::uint64_t run = 0; // 0: the actor belongs to no run
    std::uint64_t mailbox_depth = 0;
    std::uint64_t messages_handled = 0;
    std::uint64_t handler_ns = 0; // time spent in handlers
    std::uint64_t device_ns = 0;  // time that devices worked for it
    bool paused = false;
    std::vector<worker_board::row> workers;             // workers that it serves
    std::vector<fact_board::fact> facts;                // what it says of itself
    std::vector<milestone_board::milestone> milestones; // the last of its run
};

// Counts since the start. Nothing that is dropped goes uncounted.
struct node_statistics {
    std::uint64_t frames_rejected =
        0; // answered (or would have been, had they a sender) by Rejected
    std::uint64_t bodies_malformed = 0; // of these, how many could not be read
    std::uint64_t frames_misrouted = 0; // from a peer, but neither from nor to what they claim
    std::uint64_t frames_lost = 0;      // sent to a peer that was gone
    std::uint64_t actors_failed = 0;    // ended by an exception in a handler
};

class node_runtime {
  public:
    explicit node_runtime(node_options options);
    ~node_runtime(); // stops
    node_runtime(const node_runtime&) = delete;
    node_runtime& operator=(const node_runtime&) = delete;

    // Begins to listen. The actors of well-known numbers should be there before.
    result<void> start();

    // Ends all actors (on_end runs, watchers are told), then the endpoint, then the threads.
    // Idempotent.
    void stop();

    const node_options& options() const noexcept;
    node_id node() const noexcept;

    // Creates an actor of class A: A(actor_context&, args...). Its on_start() runs before its first
    // message. Defined in actor.hpp. The second form gives it a well-known number, which must be
    // free.
    template <class A, class... Args>
    actor_address spawn(std::string name, Args&&... args);
    // The same for an actor that belongs to a run: its messages bear the run's number, and its name is RUN/NAME
    // (actor_names.hpp).
    template <class A, class... Args>
    actor_address spawn_of_run(std::uint64_t run, std::string name, Args&&... args);
    template <class A, class... Args>
    actor_address spawn_as(actor_number number, std::string name, Args&&... args);

    // The living actor of this name, with or without its run; the oldest if there are several.
    std::optional<actor_address> address_of(const std::string& name) const;
    std::vector<actor_status> actors() const; // living actors, by number
    // The run of an actor of this node, 0 if it belongs to none; nothing if it is not living here.
    std::optional<std::uint64_t> run_of(actor_address local) const;

    // Sends without a sender, so that no answer comes back.
    template <class Body>
    void send(actor_address to, frame_builder<Body>&& builder) {
        stamp_from_nobody(builder.envelope(), to);
        route(std::move(builder).finish());
    }

    // Ends one actor as if it had called quit; false if there is none.
    bool end(actor_address local, error why);

    // Lets an actor rest: it takes no message until unpause, except the few that it has in hand; they wait in its
    // mailbox. step lets a paused actor take `messages` more. False if there is no such actor.
    bool pause(actor_address local);
    bool unpause(actor_address local);
    bool step(actor_address local, std::size_t messages);

    // Peers. connect reports PeerUp or ConnectFailed, and every change PeerUp or PeerDown, to the
    // subscribed actors (schemas/cluster.capnp); a new subscriber is told of the peers that are up.
    void connect(const std::string& address);
    void disconnect(node_id peer, error why);
    // See endpoint::expect and endpoint::forget; the places of an actor are forgotten before it ends.
    bool expect(node_id peer, frame_place place);
    void forget(node_id peer, actor_number local);
    void subscribe_peers(actor_address local);
    std::vector<peer_info> peers() const; // peers that are up, by node id
    std::optional<time_point>
    last_heard(node_id peer) const; // time of its last sign of life; none: it is not up
    std::uint64_t bytes_moved(node_id peer) const; // see endpoint::bytes_moved
    std::string listen_address() const;            // empty without a network

    trace_ring& trace() noexcept;
    node_statistics statistics() const;

    // For scheduling::stepped: the number of actors that have something to do, and a step in which
    // one of them takes one message.
    std::size_t runnable() const;
    void run_one(std::size_t index);
    // Simulates a crash: from now on nothing leaves this node and nothing reaches it. Must be
    // called before stop().
    void cut_off();

  private:
    friend node_core& core_of(node_runtime& runtime) noexcept;

    void stamp_from_nobody(proto::Envelope::Builder envelope, actor_address to);
    void route(frame_ptr f);

    std::shared_ptr<node_core> core_;
};

// Draws the id of a new node from the operating system's entropy.
node_id draw_node_id();

} // namespace troupe

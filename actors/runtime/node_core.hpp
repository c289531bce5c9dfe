// Private to actors/runtime: the part of a node that node_runtime, actors, proxies and the simulator share. It has the
// node's life, routes and stamps frames, supervises, and turns what the endpoint reports into messages; it alone connects
// its parts: the actors of the node (actor_table.hpp), its peers (peer_table.hpp), its counters.
//
// Locks, in the order in which they may be taken together: that of the peers, then that of the actors. No handler, no
// endpoint method but address() and no attachable runs under either. post() to an actor of this node only enqueues, and so
// may be called under the lock of the peers; to an actor of a peer it takes that lock itself.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <caf/actor_control_block.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/error.hpp>

#include "actors/runtime/actor_table.hpp"
#include "actors/runtime/node_counters.hpp"
#include "actors/runtime/node_runtime.hpp"
#include "actors/runtime/peer_table.hpp"

namespace troupe {

class actor;
class actor_shell;
class arrival_unit;
class remote_actor;
class tail_set;

// Convert Troupe's errors to CAF's and back. `who` is the subject of the sentence where CAF's error has none.
caf::error to_caf(const error& e);
error from_caf(const caf::error& e, const std::string& who);

// The outcome of a send. If the peer is congested, `epoch` says since when.
struct route_outcome {
    send_status status = send_status::accepted;
    node_id peer;
    std::uint64_t epoch = 0;
};

// The private side of a node_runtime.
node_core& core_of(node_runtime& runtime) noexcept;

class node_core final : public endpoint_listener, public std::enable_shared_from_this<node_core> {
  public:
    node_core(node_runtime& owner, node_options options);
    ~node_core() override;

    const node_options& options() const noexcept { return options_; }
    std::int64_t now_ns() const noexcept { return options_.time->now().ns; }
    std::uint64_t next_sequence() noexcept {
        return sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    caf::actor_system& system() noexcept { return *system_; }
    trace_ring& trace() noexcept { return trace_; }
    tail_set& tails() noexcept { return *tails_; }
    actor_table& actors() noexcept { return actors_; }
    peer_table& peers() noexcept { return peers_; }
    node_counters& counters() noexcept { return counters_; }

    // -- life --
    result<void> start();
    void stop();
    void cut_off() noexcept { cut_off_.store(true, std::memory_order_relaxed); }
    actor_address launch(std::unique_ptr<actor> created);
    std::size_t runnable() const;
    void run_one(std::size_t index);

    // -- frames --
    // Routes a frame from an actor's handler, which runs on `host`.
    route_outcome route(frame_ptr f, actor_address to, std::int64_t now_ns,
                        caf::execution_unit* host);
    // Callable from any thread; for actors of this node also after the end. A woken actor runs on `host` or a worker.
    void post(frame_ptr f, timer_id timer = {}, caf::execution_unit* host = nullptr);
    // Answers a frame by Rejected in the name of its receiver, if an answer is due, and counts it.
    void reject(const frame& f, const std::string& reason, bool is_gone = false);

    // Stamps a message of the node itself, or of a part of it that stands in for `from`.
    void stamp(proto::Envelope::Builder envelope, actor_number from, actor_address to);
    // The same, callable from any thread. Returns false after the end, when the time source may be gone.
    bool stamp_unless_closed(proto::Envelope::Builder envelope, actor_number from,
                             actor_address to);

    // -- supervision --
    void watch(actor_address watcher, actor_address target);
    void unwatch(actor_address watcher, actor_address target);
    void post_down(actor_address watcher, actor_address target, const error& why);
    // Called when a remote actor has ended, as `told` knows: drops its proxy and tells its other watchers here.
    void end_proxy(actor_address remote, actor_address told, const error& why);

    // -- peers --
    send_status send_to_peer(node_id peer, frame_ptr f);
    void subscribe_peers(actor_address local);

    void peer_up(const peer_info& peer) override;
    void frame_arrived(node_id from, frame_ptr f) override;
    void peer_writable(node_id peer) override;
    void peer_alive(node_id peer) override { peers_.hear(peer, options_.time->now()); }
    void peer_down(node_id peer, const error& why) override;
    void connect_failed(const std::string& address, const error& why) override;

  private:
    void end_actors();
    // Answers a frame whose receiver is not there (any more).
    void reject_absent(const frame& f, actor_number to);
    void tell_listening(actor_address subscriber);
    void tell_peer_up(actor_address subscriber, const peer_info& peer);
    error stop_reason() const {
        return {errc::cancelled, "node " + options_.name + " was stopped"};
    }

    node_runtime& owner_;
    const node_options options_;
    caf::actor_system_config config_;
    std::unique_ptr<caf::actor_system> system_; // null once stopped
    // The execution unit of the endpoint's thread; null if actors are stepped.
    std::unique_ptr<arrival_unit> arrivals_;
    trace_ring trace_;
    std::unique_ptr<tail_set> tails_;
    std::atomic<std::uint64_t> sequence_{0};
    std::atomic<bool> cut_off_{false};

    actor_table actors_;
    peer_table peers_;
    node_counters counters_;
};

} // namespace troupe

// Private to actors/runtime: the part of a node that node_runtime, actors, proxies and the simulator share.
//
// Locks, in the order in which they may be taken together: peers_lock_, then table_lock_. No handler, no endpoint method
// and no attachable runs under either. post() to an actor of this node only enqueues, and so may be called under
// peers_lock_; to an actor of a peer it takes that lock itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include <caf/actor_control_block.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/error.hpp>

#include "actors/runtime/node_runtime.hpp"

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
    node_statistics statistics() const;

    // -- life --
    result<void> start();
    void stop();
    void cut_off() noexcept { cut_off_.store(true, std::memory_order_relaxed); }
    actor_address reserve(std::optional<actor_number> number);
    actor_address launch(std::unique_ptr<actor> created);
    void forget(actor_number number); // the last action of an ending actor
    std::size_t runnable() const;
    void run_one(std::size_t index);

    // -- local actors --
    std::optional<actor_address> address_of(const std::string& name) const;
    std::vector<actor_status> actors() const;
    caf::strong_actor_ptr find(actor_number number) const; // null if there is none

    // -- frames --
    // Routes a frame from an actor's handler, which runs on `host`.
    route_outcome route(frame_ptr f, actor_address to, std::int64_t now_ns,
                        caf::execution_unit* host);
    // Callable from any thread; for actors of this node also after the end. A woken actor runs on `host` or a worker.
    void post(frame_ptr f, timer_id timer = {}, caf::execution_unit* host = nullptr);
    // Answers a frame by Rejected in the name of its receiver, if an answer is due, and counts it.
    void reject(const frame& f, const std::string& reason, bool is_gone = false);
    void count_malformed() noexcept { malformed_.fetch_add(1, std::memory_order_relaxed); }
    void count_failed() noexcept { failed_.fetch_add(1, std::memory_order_relaxed); }

    // Stamps a message of the node itself, or of a part of it that stands in for `from`.
    void stamp(proto::Envelope::Builder envelope, actor_number from, actor_address to);
    // The same, callable from any thread. Returns false after the end, when the clock may be gone.
    bool stamp_unless_closed(proto::Envelope::Builder envelope, actor_number from,
                             actor_address to);

    // -- supervision --
    void watch(actor_address watcher, actor_address target);
    void unwatch(actor_address watcher, actor_address target);
    void post_down(actor_address watcher, actor_address target, const error& why);
    caf::strong_actor_ptr known_proxy(actor_address remote) const; // null if there is none
    // Called when a remote actor has ended, as `told` knows: drops its proxy and tells its other watchers here.
    void end_proxy(actor_address remote, actor_address told, const error& why);
    // Lets `self` rest until the peer takes frames again, unless it already does.
    void park(actor_shell& self, const route_outcome& congested);

    // -- peers --
    send_status send_to_peer(node_id peer, frame_ptr f);
    void subscribe_peers(actor_address local);
    std::vector<peer_info> peers() const;
    std::optional<time_point> last_heard(node_id peer) const;

    void peer_up(const peer_info& peer) override;
    void frame_arrived(node_id from, frame_ptr f) override;
    void peer_writable(node_id peer) override;
    void peer_alive(node_id peer) override { hear(peer); }
    void peer_down(node_id peer, const error& why) override;
    void connect_failed(const std::string& address, const error& why) override;

  private:
    struct peer {
        peer_info info;
        std::map<actor_number, caf::strong_actor_ptr> proxies;
        time_point last_heard;   // time at which it last sent anything or came up
        std::uint64_t epoch = 0; // number of times that the peer became writable
        std::vector<caf::strong_actor_ptr> parked;
    };

    static constexpr std::size_t lost_peers_max = 64;
    error not_connected(node_id peer) const; // the reason

    enum class local_outcome : std::uint8_t { delivered, absent, closed };
    // Called with table_lock_ held.
    local_outcome deliver_local(const frame_ptr& f, actor_number to, std::int64_t now_ns,
                                timer_id timer, caf::execution_unit* host);
    // Makes the proxy if there is none yet. Null if the peer is not there or has remote_actors_max proxies already.
    caf::strong_actor_ptr proxy_of(actor_address remote, std::uint64_t* epoch);
    void tell_listening(actor_address subscriber);
    void tell_subscriber(actor_address subscriber, const peer_info& peer);
    bool fits(node_id from, const frame& f) const;
    bool only_looks(const frame& f) const;
    peer_role hear(node_id from);
    void await_actors();
    error stop_reason() const {
        return {errc::cancelled, "node " + options_.name + " was stopped"};
    }

    node_runtime& owner_;
    const node_options options_;
    caf::actor_system_config config_;
    std::unique_ptr<caf::actor_system> system_; // null once stopped; changes under table_lock_
    // The execution unit of the endpoint's thread; null if actors are stepped.
    std::unique_ptr<arrival_unit> arrivals_;
    trace_ring trace_;
    std::unique_ptr<tail_set> tails_;
    std::atomic<std::uint64_t> sequence_{0};
    std::atomic<bool> cut_off_{false};

    mutable std::shared_mutex table_lock_;
    std::map<actor_number, caf::strong_actor_ptr> table_; // guarded by table_lock_
    std::uint64_t next_number_ = well_known::first_free.value();
    bool stopping_ = false;
    // Set when nothing is delivered any more, and clock, timers and endpoint may be gone. Changes under table_lock_; code
    // that may run after the end uses these under that lock. Read without it where a late answer does no harm.
    std::atomic<bool> closed_{false};
    std::condition_variable_any table_empty_;

    mutable std::mutex peers_lock_;
    std::map<node_id, peer> peers_; // guarded by peers_lock_
    // The reasons for the latest losses, oldest first, for actors that begin to watch afterwards; guarded by peers_lock_.
    std::deque<std::pair<node_id, error>> lost_peers_;
    std::vector<actor_address> subscribers_;
    bool listening_ = false;

    std::atomic<std::uint64_t> rejected_{0};
    std::atomic<std::uint64_t> malformed_{0};
    std::atomic<std::uint64_t> misrouted_{0};
    std::atomic<std::uint64_t> lost_{0};
    std::atomic<std::uint64_t> failed_{0};
};

} // namespace troupe

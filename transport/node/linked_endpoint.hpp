// The endpoint itself: the progress thread that moves control messages and frames, and the methods that other threads
// call. make_node_endpoint (node_endpoint.hpp) creates it. It connects its parts, which share the poll_set and otherwise do
// not know each other, and takes the worker lock for them.
//
// Locks, in the order in which they are taken: worker lock (UCX), that of a peer's stream, that of its queue; those of what
// a stream awaits, of the table of peers and of the inbox alone. A sender that finds the worker lock free hands its frame to
// UCX itself; otherwise, or while UCX still has work with it, the progress thread does. Over TCP it writes to the peer's
// connection, unless another thread does so already.
//
// Why no wake-up is lost stands in progress_inbox.hpp. A sender whose flush left sends in flight, a failed peer or
// is_writable wakes the progress thread too, and while sends are in flight that sleeps 100 us at most.
#pragma once

#include <mutex>
#include <optional>
#include <thread>

#include "transport/node/control_plane.hpp"
#include "transport/node/endpoint_counters.hpp"
#include "transport/node/link_means.hpp"
#include "transport/node/node_endpoint.hpp"
#include "transport/node/progress_inbox.hpp"
#include "transport/node/progress_pace.hpp"
#include "transport/node/report_queue.hpp"
#include "transport/node/up_peers.hpp"
#include "transport/tcp/stream_links.hpp"
#include "transport/ucx/ucx_links.hpp"

namespace troupe {

class linked_endpoint final : public endpoint, private control_events {
  public:
    linked_endpoint(endpoint_options options, const socket_address& listen,
                    std::unique_ptr<link_means> means);
    ~linked_endpoint() override { close(); }

    result<void> start(endpoint_listener& listener) override;
    std::string address() const override { return control_.address(); }
    void connect(const std::string& address) override;
    send_status send(node_id peer, frame_ptr f) override;
    bool expect(node_id peer, frame_place place) override;
    void forget(node_id peer, actor_number actor) override;
    std::uint64_t bytes_moved(node_id peer) const override;
    void disconnect(node_id peer, error why) override;
    void close() override;
    endpoint_statistics statistics() const override { return counters_.read(); }

  private:
    using peer_ptr = std::shared_ptr<peer_state>;

    // --- any thread
    void kick(const peer_ptr& peer);

    // --- the progress thread
    void run();
    bool round(time_point now); // true if there was work
    void let_others_run(time_point now);
    bool run_commands();
    bool make_progress();
    void collect();
    void poll_sockets(std::optional<duration> timeout); // none: until an event
    void wait_for_events();
    std::optional<duration> wait_limit() const;
    void notice_changes();
    void give_up_soon(peer_state& peer, const error& why);
    void look_after_peers(time_point now);
    void say_alive(time_point now);
    void say_wired();
    void take_down(peer_ptr peer, const error& why);
    void begin_closing();
    bool continue_closing();
    void abandon_everything();
    bool is_closing() const noexcept { return close_by_.has_value(); }

    result<void> route_found(const peer_ptr& peer, link_route route) override;
    void frames_connected(const peer_ptr& peer, file_descriptor socket,
                          const session_secrets& secrets) override;
    void peer_accepted(const peer_ptr& peer) override;
    void peer_said_alive(const peer_ptr& peer) override;
    void peer_said_goodbye(const peer_ptr& peer, std::uint64_t frames) override;
    void peer_ended(const peer_ptr& peer, const error& why) override;
    void connect_failed(const std::string& address, const error& why) override;

    const endpoint_options options_;
    poll_set poll_;
    std::mutex worker_lock_;
    const std::unique_ptr<link_means> means_;
    ucx_links links_;      // guarded by the worker lock
    stream_links streams_; // flush() by any thread, all else by the progress thread
    up_peers peers_;
    progress_inbox inbox_;

    // Used by the progress thread only.
    control_plane control_;
    report_queue reports_;
    progress_pace pace_;
    struct {
        bool wiring = false;   // a peer has yet to be told that frames can reach it
        bool watching = false; // a peer waits for a time or a last frame
    } due_;
    std::optional<time_point> close_by_; // set from the beginning of the end on

    endpoint_counters counters_;
    std::mutex close_lock_;
    std::thread thread_;
};

} // namespace troupe

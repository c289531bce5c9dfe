// The endpoint itself: the progress thread that moves control messages and frames, and the methods that other threads
// call. make_ucx_endpoint (ucx_endpoint.hpp) creates it.
//
// Locks, in the order in which they are taken: worker lock (UCX), then a peer's queue_lock; table lock and command lock
// alone. A sender that finds the worker lock free hands its frame to UCX itself; otherwise, or while UCX still has work
// with it, the progress thread does.
//
// Why no wake-up is lost: a sender stores has_commands_, then exchanges is_asleep_; the progress thread stores is_asleep_,
// then loads has_commands_. All of these are sequentially consistent, so at least one of the two sees the other's. is_dirty
// is cleared before the flush and queue_lock orders push against flush, so a frame pushed too late for one flush asks for
// another. A sender whose flush left sends in flight, a failed peer or is_writable wakes the progress thread too, and while
// sends are in flight that sleeps 100 us at most.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "transport/ucx/control_plane.hpp"
#include "transport/ucx/frame_receiver.hpp"
#include "transport/ucx/frame_sender.hpp"
#include "transport/ucx/ucx_endpoint.hpp"
#include "transport/ucx/ucx_means.hpp"

namespace troupe {

class ucx_node final : public endpoint, private control_events {
  public:
    ucx_node(ucx_options options, const socket_address& listen, std::unique_ptr<ucx_means> means);
    ~ucx_node() override { close(); }

    result<void> start(endpoint_listener& listener) override;
    std::string address() const override { return control_.address(); }
    void connect(const std::string& address) override;
    send_status send(node_id peer, frame_ptr f) override;
    void disconnect(node_id peer, error why) override;
    void close() override;
    endpoint_statistics statistics() const override;

  private:
    using peer_ptr = std::shared_ptr<ucx_peer>;

    // A report to the listener, in order: a frame, or a call.
    struct report {
        node_id node;
        frame_ptr data;
        std::function<void(endpoint_listener&)> call;
    };

    struct links_progress {
        unsigned done = 0;
        unsigned asked = 0; // workers polled
    };

    // --- any thread
    peer_ptr find(node_id node) const;
    void kick(const peer_ptr& peer);
    void command(std::function<void()> what);
    void wake();

    // --- the progress thread
    void run();
    bool round(time_point now); // true if there was work
    void let_others_run();
    bool run_commands();
    bool arm();
    void watch(const ucx_worker& worker);
    void forget(const ucx_worker& worker);
    void note_ready(int event_descriptor);
    bool make_progress();
    links_progress progress_links();
    void collect();
    bool deliver();
    void poll_sockets(std::optional<duration> timeout); // none: until an event
    void wait_for_events();
    std::optional<duration> wait_limit() const;
    void notice_changes();
    void look_after_peers(time_point now);
    void say_alive(time_point now);
    void say_wired();
    void take_down(peer_ptr peer, const error& why);
    void begin_closing();
    bool continue_closing();
    void end_link(ucx_peer& peer);
    void retire_links();
    void drop_worker(ucx_peer& peer);
    void abandon_everything();

    result<void> route_found(const peer_ptr& peer, ucx_route route) override;
    void peer_accepted(const peer_ptr& peer) override;
    void peer_said_alive(const peer_ptr& peer) override;
    void peer_said_goodbye(const peer_ptr& peer, std::uint64_t frames) override;
    void peer_ended(const peer_ptr& peer, const error& why) override;
    void connect_failed(const std::string& address, const error& why) override;

    const ucx_options options_;
    const socket_address listen_address_;
    endpoint_listener* listener_ = nullptr;
    file_descriptor poll_;
    file_descriptor wake_up_;

    std::mutex worker_lock_;
    std::unique_ptr<ucx_means> means_;
    std::vector<peer_ptr> links_; // every peer with a worker; guarded by the worker lock
    frame_sender sender_;
    frame_receiver receiver_;
    bool any_failed_ = false;          // guarded by the worker lock
    bool any_over_ = false;            // a link is over; guarded by the worker lock
    std::uint64_t progress_round_ = 0; // guarded by the worker lock

    mutable std::mutex table_lock_;
    // Peers that are up; written by the progress thread.
    std::unordered_map<node_id, peer_ptr> peers_;

    std::mutex command_lock_;
    std::vector<std::function<void()>> commands_;
    std::vector<peer_ptr> dirty_;
    std::atomic<bool> has_commands_{false};
    std::atomic<bool> is_asleep_{false};

    // Used by the progress thread only.
    control_plane control_;
    std::vector<report> reports_;
    // A peer has yet to be told that UCX has set up its connection.
    bool is_wiring_ = false;
    bool is_watching_ = false; // a peer waits for a time or a last frame
    bool is_closing_ = false;
    time_point close_by_;
    time_point sockets_polled_at_;
    time_point polls_from_; // before this time it sleeps when idle
    time_point said_alive_at_;

    std::atomic<std::uint64_t> frames_sent_{0};
    std::atomic<std::uint64_t> bytes_sent_{0};
    std::atomic<std::uint64_t> frames_received_{0};
    std::atomic<std::uint64_t> bytes_received_{0};
    std::atomic<std::uint64_t> malformed_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::mutex close_lock_;
    std::thread thread_;
};

} // namespace troupe

// Who a node is connected to: listens, connects, lets both sides prove the key, decides between two connections of one
// pair, and notices through the TCP connection when a peer's process ends.
//
// Of two nodes the one with the lower id decides: it accepts the first proven connection of the pair and calls every
// other one a duplicate. So two nodes that connect to each other at once end with one connection.
//
// Threads: the progress thread (listen before it runs).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/ucx/control_connection.hpp"
#include "transport/ucx/ucx_peer.hpp"

namespace troupe {

struct ucx_options;
class ucx_means;

// What the control plane tells its node. Called from within its methods.
class control_events {
  public:
    virtual ~control_events() = default;
    // Gives the peer its worker: its frames may begin to come.
    virtual result<void> way_found(const std::shared_ptr<ucx_peer>& peer, ucx_way way) = 0;
    virtual void peer_accepted(const std::shared_ptr<ucx_peer>& peer) = 0;
    virtual void peer_said_alive(const std::shared_ptr<ucx_peer>& peer) = 0;
    virtual void peer_said_goodbye(const std::shared_ptr<ucx_peer>& peer, std::uint64_t frames) = 0;
    // Of a proven peer, accepted or not; nothing about it follows.
    virtual void peer_ended(const std::shared_ptr<ucx_peer>& peer, const error& why) = 0;
    virtual void connect_failed(const std::string& address, const error& why) = 0;
};

class control_plane {
  public:
    // `poll` is the descriptor of an epoll set; events that it reports with data.u64 >= first_id belong here.
    control_plane(const ucx_options& options, const ucx_means& means, control_events& events,
                  int poll);

    static constexpr std::uint64_t first_id = 16;

    // Opens the port. errc::io.
    result<void> listen(const socket_address& address);
    void stop_listening();
    std::string address() const { return self_.address; }

    void connect(const std::string& address);
    void say_alive(const ucx_peer& peer);
    void say_wired(const ucx_peer& peer);
    void say_goodbye(const ucx_peer& peer);
    // Before drop(): tells the peer why. It is not waited for.
    void say_given_up(const ucx_peer& peer, const error& why);
    // Ends the peer's connection. Of one that is not up only who called connect() is told.
    void drop(const ucx_peer& peer, const error& why);
    // Ends every connection that is not up, without a word to the node.
    void drop_unfinished();

    void on_ready(std::uint64_t id);

    // Ends what took too long.
    void expire(time_point now);
    std::optional<time_point> next_deadline() const;

    std::uint64_t refused() const noexcept { return refused_; }

  private:
    // In this order; the higher node waits for a verdict, which the lower one gives.
    enum class phase : std::uint8_t {
        proof,
        hello, // of the peer is awaited, as what follows
        sight,
        worker,
        verdict,
        duplicate, // of one that may not have got as far; dropped when that is up
        up,
    };
    struct connection {
        std::uint64_t id;
        std::unique_ptr<control_connection> wire;
        handshake_side side;
        phase state = phase::proof;
        std::string target; // of connect()
        time_point deadline;
        std::shared_ptr<ucx_peer> peer; // from hello on
        ucx_ways ways{};                // the peer's, from sight on
        bool sees_memory = false;       // from here, that the peer names; from sight on
        bool polls_for_writing = false;
    };

    void accept_waiting();
    bool make_room(); // for one more connection that comes in
    connection& add(file_descriptor socket, handshake_side side, duration timeout);
    void watch(connection& c, bool is_new = false);
    void admit(connection& c, const hello_message& hello);
    void admit(connection& c, const sight_message& sight);
    void admit(connection& c, const worker_message& worker);
    void admit(connection& c, verdict_message verdict);
    void admit(connection& c, const goodbye_message& goodbye);
    void admit(connection& c, alive_message);
    void admit(connection& c, wired_message);
    void admit(connection& c, const given_up_message& given_up);
    void become_up(connection& c);
    void end(std::uint64_t id, const error& why);
    void end_duplicate(connection& c);
    error overdue_error(const control_connection& wire) const;
    void report_failure(const connection& c, const error& why); // of a connect(), if it was one
    bool has_other(const connection& c) const; // of the same pair, accepted or about to be
    connection* find(std::uint64_t id);
    connection* find(const ucx_peer& peer);

    const ucx_options& options_;
    const ucx_means& means_;
    control_events& events_;
    int poll_;
    peer_info self_;
    file_descriptor listening_;
    std::optional<time_point> listens_again_at_; // after the process ran out of descriptors
    std::map<std::uint64_t, connection> connections_;
    std::map<node_id, std::uint64_t> up_;
    std::uint64_t next_id_ = first_id + 1;
    std::uint64_t refused_ = 0;
    bool has_told_of_crowd_ = false;
};

} // namespace troupe

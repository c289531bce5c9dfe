// The control connections of a node: it listens, connects, lets both sides prove the key, decides between two connections
// of one pair, and notices through the TCP connection that a peer's process has ended.
//
// Of two nodes the one with the lower id decides: it accepts the first proven connection of the pair and declares all
// others duplicates. So two nodes that connect to each other at the same time end up with one connection. None replaces one
// that stands: who has lost it gets another once this node has noticed its end too.
//
// Threads: the progress thread (listen() before it runs).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/node/connection_table.hpp"
#include "transport/node/refusal_log.hpp"
#include "transport/node/waiting_line.hpp"
#include "transport/tcp/poll_set.hpp"

namespace troupe {

struct endpoint_options;
class link_means;

// Events that the control plane reports to its node. Called from within its methods.
class control_events {
  public:
    virtual ~control_events() = default;
    // Gives the peer its worker, or its stream: its frames may begin to arrive.
    virtual result<void> route_found(const std::shared_ptr<peer_state>& peer, link_route route) = 0;
    // The connection for frames of a peer that is up, where they travel over TCP.
    virtual void frames_connected(const std::shared_ptr<peer_state>& peer, file_descriptor socket,
                                  const session_secrets& secrets) = 0;
    virtual void peer_accepted(const std::shared_ptr<peer_state>& peer) = 0;
    virtual void peer_said_alive(const std::shared_ptr<peer_state>& peer) = 0;
    virtual void peer_said_goodbye(const std::shared_ptr<peer_state>& peer,
                                   std::uint64_t frames) = 0;
    // A proven peer, accepted or not, has ended; no event about it follows.
    virtual void peer_ended(const std::shared_ptr<peer_state>& peer, const error& why) = 0;
    virtual void connect_failed(const std::string& address, const error& why) = 0;
};

class control_plane {
  public:
    // Ids that `poll` reports from first_id on, below those of ucx_links, are for this object.
    control_plane(const endpoint_options& options, const socket_address& listen,
                  const link_means& means, control_events& events, poll_set& poll);

    static constexpr std::uint64_t first_id = 16;

    // Opens the port. errc::io.
    result<void> listen();
    void stop_listening();
    std::string address() const { return self_.address; }

    void connect(const std::string& address);
    // To a peer that is up; nothing to another.
    void say(const peer_state& peer, const control_message& message);
    // Tells the peer why it is given up, before drop(); does not wait for it.
    void say_given_up(const peer_state& peer, const error& why);
    // Ends the peer's connection. If it is not up, only a caller of connect() is notified.
    void drop(const peer_state& peer, const error& why);
    // No peer comes up any more: ends the connections that are not up, without notifying the node. Those that have come in
    // and may be for frames of a peer that is up stay, until stop_listening().
    void begin_closing();

    void on_ready(std::uint64_t id);

    // Ends connections past their deadlines.
    void expire(time_point now);
    std::optional<time_point> next_deadline() const;

    std::uint64_t refused() const noexcept { return refused_.unproven; }

  private:
    using connection = peer_connection;
    using phase = connection_phase;

    void accept_waiting();
    bool make_room(const std::string& network); // for another incoming connection from there
    void say_crowd(std::size_t unfinished, const std::string& who_goes);
    connection& add(newcomer other, handshake_side side, duration timeout);
    void watch(connection& c, bool is_new = false);
    void admit(connection& c, const hello_message& hello);
    void admit(connection& c, const sight_message& sight);
    void admit(connection& c, const worker_message& worker);
    void admit(connection& c, verdict_message verdict);
    void admit(connection& c, const goodbye_message& goodbye);
    void admit(connection& c, alive_message);
    void admit(connection& c, wired_message);
    void admit(connection& c, const given_up_message& given_up);
    void admit(connection& c, const frames_message& frames);
    void say_hello(connection& c);
    link_routes routes_for(const connection& c) const;
    bool seals(const connection& c) const; // frames over TCP
    void judge(connection& c);             // accepts it or not, if that is this node's to decide
    void connect_frames(const connection& c);
    bool connects_frames_again(const connection& refused, const error& why);
    void hand_over(connection& c, std::shared_ptr<peer_state> peer);
    void give_up(connection& c, const error& why); // tells the peer why
    void say_once(bool& is_said, const std::string& sentence);
    void become_up(connection& c);
    void end(std::uint64_t id, const error& why);
    void end_duplicate(connection& c);
    // Reports the failure of a connect(), if the connection comes from one.
    void report_failure(const connection& c, const error& why);

    const endpoint_options& options_;
    const socket_address listen_address_;
    const link_means& means_;
    control_events& events_;
    poll_set& poll_;
    peer_info self_;
    file_descriptor listening_;
    waiting_line line_; // as all incoming connections that there may be are about to be up
    // When those in line are looked at, and the port is if the process ran out of descriptors.
    std::optional<time_point> looks_again_at_;
    connection_table connections_;
    // When the connection for frames of these is begun again.
    std::map<std::uint64_t, time_point> frames_again_at_;
    std::uint64_t next_id_ = first_id + 1;
    struct {
        refusal_log log;
        std::uint64_t unproven = 0;
    } refused_;
    bool is_closing_ = false;
    struct {
        bool of_crowd = false;
        bool of_memory = false;
        bool of_other_worker = false;
    } has_told_; // each is said once
};

} // namespace troupe

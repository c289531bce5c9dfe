// Keeps this node's list of members: it joins a cluster through any member, admits newcomers, exchanges heartbeats, looks
// for members that were lost, and notifies subscribers of members that join or leave. Spawned under well_known::cluster
// before the node starts to listen. The protocol is schemas/cluster.capnp; the decisions are in membership.hpp,
// heartbeat.hpp and missing_members.hpp.
//
//     node.spawn_as<cluster_actor>(well_known::cluster, "cluster", cluster_options{.devices = ..., .join = "host:4100"});
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "actors/cluster/heartbeat.hpp"
#include "actors/cluster/membership.hpp"
#include "actors/cluster/missing_members.hpp"
#include "actors/runtime/actor.hpp"

namespace troupe {

struct cluster_options {
    peer_role role = peer_role::member;
    std::vector<device_info> devices;
    std::string join; // HOST:PORT of any member; empty: found a cluster
    heartbeat_times heartbeat;
    // Called once, on the actor's thread, when the node has joined (at once for a founder), with the members that it could
    // not connect to; or when it cannot join: errc::unreachable, errc::refused. Must only pass the result on, without
    // blocking. May be empty.
    std::function<void(const result<std::vector<unreached_member>>&)> joined;
    // For people: a sentence for each node that joins or leaves after the node has joined. Same rules as `joined`; may be
    // empty.
    std::function<void(const std::string&)> log;
};

class cluster_actor final : public actor {
  public:
    cluster_actor(actor_context& context, cluster_options options);

  private:
    // peers
    void listening(proto::Listening::Reader news, const frame& f);
    void peer_up(proto::PeerUp::Reader news, const frame& f);
    void peer_down(proto::PeerDown::Reader news, const frame& f);
    void connect_failed(proto::ConnectFailed::Reader news, const frame& f);
    // members
    void take_join(proto::Join::Reader request, const frame& f);
    void take_welcome(proto::Welcome::Reader answer, const frame& f);
    void take_refusal(proto::Refused::Reader answer, const frame& f);
    void take_heartbeat(proto::Heartbeat::Reader beat, const frame& f);
    void take_goodbye(proto::Goodbye::Reader news, const frame& f);
    void beat(proto::HeartbeatDue::Reader due, const frame& f);
    // questions
    void take_subscription(proto::Subscribe::Reader request, const frame& f);
    void list_members(proto::ListMembers::Reader request, const frame& f);

    void on_start() override;
    void on_end() override;
    void on_down(actor_address subscriber, const error& why) override;

    peer_info peer(node_id node) const;
    result<member_info> read_sender(proto::Member::Reader said, const frame& f) const;
    result<bool> admit(const member_info& m); // true: a new member
    void remove(node_id node, const error& why);
    // Nodes look for nodes: a run that has lost one goes on without it or ends.
    bool would_look_for(const member_info& m) const;
    void look_for_unknown(const std::vector<member_info>& named);
    void ask_to_join(node_id node);
    void log(const std::string& sentence) const;
    void report_join(const result<std::vector<unreached_member>>& outcome);
    void check_joined();
    void give_up_join(const error& why);
    void send_members(actor_address to);

    const cluster_options options_;
    membership members_;
    join_progress progress_;
    heartbeat_judge judge_;
    missing_members missing_;
    time_point join_deadline_;
    bool join_reported_ = false;
    std::uint64_t beats_ = 0;
    std::vector<actor_address> subscribers_;
};

} // namespace troupe

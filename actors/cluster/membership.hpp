// Who belongs to the cluster, as one node believes it. A plain value: no actor, no clock, no network.
//
// Errors: a newcomer that cannot be taken in is answered with a sentence for its user.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "schemas/base/ids.hpp"
#include "schemas/cluster.capnp.h"
#include "transport/endpoint.hpp"

namespace troupe {

struct device_info {
    std::string name;               // "cpu:0"; unique on its node
    std::uint64_t memory_bytes = 0; // bound of its pool
    std::string model;              // of a GPU, "NVIDIA H200"; else empty

    friend bool operator==(const device_info&, const device_info&) = default;
};

struct member_info {
    node_id node;
    std::string name;
    std::string address; // HOST:PORT where it listens
    peer_role role = peer_role::member;
    std::vector<device_info> devices;

    friend bool operator==(const member_info&, const member_info&) = default;
};

// Is this what a member may say about itself? errc::protocol with what is wrong.
result<void> check_member(const member_info& m);

void write_member(proto::Member::Builder to, const member_info& m);
void write_members(capnp::List<proto::Member>::Builder to, const std::vector<member_info>& all);
// Checked; at most limits::nodes_max.
result<member_info> read_member(proto::Member::Reader from);
result<std::vector<member_info>> read_members(capnp::List<proto::Member>::Reader from);

// One node's list of members.
class membership {
  public:
    explicit membership(member_info self);

    const member_info& self() const { return members_.at(self_); }
    void set_address(const std::string& address) { members_.at(self_).address = address; }
    bool contains(node_id node) const { return members_.contains(node); }
    const member_info* find(node_id node) const;
    std::vector<member_info> list() const; // by node id, self included
    std::vector<node_id> others() const;   // by node id, without self

    // True: a new member. False: it was one already. errc::refused: its name is in use, or the cluster is full.
    result<bool> admit(const member_info& newcomer);

    // The former member, if it was one.
    std::optional<member_info> remove(node_id node);

  private:
    node_id self_;
    std::map<node_id, member_info> members_;
};

// How far a newcomer is in joining: it has joined when everybody whom it heard of has welcomed it or is gone.
class join_progress {
  public:
    enum class state : std::uint8_t { joining, joined, failed };

    // Without an address there is nobody to join: the node founds a cluster.
    explicit join_progress(const std::string& address);

    state now() const noexcept { return state_; }
    const std::string& address() const noexcept { return address_; }

    // A Welcome; returns who in it is new and must be connected to. `known` are those that have welcomed already.
    std::vector<member_info> welcomed(const member_info& by, const std::vector<member_info>& named,
                                      const membership& known);
    void lost(node_id node);                 // it will not welcome anybody
    void unreachable(const std::string& at); // a connection that did not come about
    void refused();

  private:
    void settle();

    std::string address_;
    state state_;
    bool first_contact_ = false;
    std::map<node_id, std::string> awaited_; // has been named, has not welcomed; with its address
};

} // namespace troupe

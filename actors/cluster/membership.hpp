// The members of the cluster as one node knows them. A plain value: no actor, no time source, no network.
//
// Errors: a newcomer that is not admitted gets a sentence for its user.
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
    std::uint64_t memory_bytes = 0; // bytes of its memory pool
    std::string model;              // of a GPU: "NVIDIA H200"; else empty
    std::string instruction_set;    // of a processor: "AVX2"; else empty

    friend bool operator==(const device_info&, const device_info&) = default;
};

struct member_info {
    node_id node;
    std::string name;
    std::string address; // HOST:PORT at which it listens
    peer_role role = peer_role::member;
    std::vector<device_info> devices;

    friend bool operator==(const member_info&, const member_info&) = default;
};

// Checks a member's description of itself; errc::protocol says what is wrong.
result<void> check_member(const member_info& m);

void write_member(proto::Member::Builder to, const member_info& m);
void write_members(capnp::List<proto::Member>::Builder to, const std::vector<member_info>& all);
// Both check what they read; the list has at most limits::nodes_max members.
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

    // True: a new member. False: already a member. errc::refused: its name is in use, or the cluster is full.
    result<bool> admit(const member_info& newcomer);

    // Returns the former member, if it was one.
    std::optional<member_info> remove(node_id node);

  private:
    node_id self_;
    std::map<node_id, member_info> members_;
};

// A member that a newcomer has heard of and could not connect to.
struct unreached_member {
    node_id node;
    std::string name;
    std::string address;
    std::string why;

    friend bool operator==(const unreached_member&, const unreached_member&) = default;
};

// "node b (HOST:PORT) is a member of the cluster, but cannot be reached from here: WHY"
std::string unreached_text(const unreached_member& m);

// Progress of a newcomer in joining: it has joined when every member that it has heard of has welcomed it or is gone.
class join_progress {
  public:
    enum class state : std::uint8_t { joining, joined, failed };

    // An empty address: nobody to join, the node founds a cluster.
    explicit join_progress(const std::string& address);

    state now() const noexcept { return state_; }
    const std::string& address() const noexcept { return address_; }

    // A Welcome has arrived. Returns the members named in it that are new and must be connected to. `known` are the members
    // that have sent a Welcome already.
    std::vector<member_info> welcomed(const member_info& by, const std::vector<member_info>& named,
                                      const membership& known);
    void lost(node_id node);                                   // no Welcome will come from it
    void unreachable(const std::string& at, const error& why); // a connection attempt has failed
    void refused();
    // The nodes that the newcomer is not connected to; runs look after themselves.
    const std::vector<unreached_member>& unreached() const noexcept { return unreached_; }

  private:
    void settle();

    std::string address_;
    state state_;
    bool first_contact_ = false;
    std::map<node_id, member_info> awaited_; // named but not welcomed by yet
    std::vector<unreached_member> unreached_;
};

} // namespace troupe

#include "actors/cluster/membership.hpp"

#include <set>
#include <utility>

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "transport/handshake/role.hpp"

namespace troupe {

namespace {

result<void> check_text(const char* what, const std::string& text, std::size_t bytes_max) {
    if (!is_printable_name(text, bytes_max))
        return error{errc::protocol, std::string{what} + " must be 1 to " +
                                         std::to_string(bytes_max) + " bytes of printable text"};
    return {};
}

} // namespace

result<void> check_member(const member_info& m) {
    if (m.node.value() == 0)
        return error{errc::protocol, "a node's id is not 0"};
    if (auto name = check_text("a node's name", m.name, limits::name_bytes_max); !name)
        return name;
    if (auto address = check_text("a node's address", m.address, limits::address_bytes_max);
        !address)
        return address;
    if (m.devices.size() > limits::node_devices_max)
        return error{errc::protocol, "node " + m.name + " names more than " +
                                         std::to_string(limits::node_devices_max) + " devices"};
    std::set<std::string> names;
    for (const device_info& device : m.devices) {
        if (auto name = check_text("a device's name", device.name, limits::name_bytes_max); !name)
            return name;
        for (const auto& [what, text] : {std::pair{"a device's model", &device.model},
                                         {"an instruction set", &device.instruction_set}})
            if (!text->empty())
                if (auto printable = check_text(what, *text, limits::name_bytes_max); !printable)
                    return printable;
        if (!names.insert(device.name).second)
            return error{errc::protocol,
                         "node " + m.name + " names device " + device.name + " twice"};
    }
    return {};
}

void write_member(proto::Member::Builder to, const member_info& m) {
    to.setNode(m.node.value());
    to.setName(m.name);
    to.setAddress(m.address);
    to.setRole(to_proto(m.role));
    auto devices = to.initDevices(static_cast<unsigned>(m.devices.size()));
    for (unsigned i = 0; i < devices.size(); ++i) {
        devices[i].setName(m.devices[i].name);
        devices[i].setMemoryBytes(m.devices[i].memory_bytes);
        devices[i].setModel(m.devices[i].model);
        devices[i].setInstructionSet(m.devices[i].instruction_set);
    }
}

result<member_info> read_member(proto::Member::Reader from) {
    const auto role = from_proto(from.getRole());
    if (!role || *role == peer_role::observer)
        return error{errc::protocol, "only members and clients join a cluster"};
    member_info m{.node = node_id{from.getNode()},
                  .name = from.getName(),
                  .address = from.getAddress(),
                  .role = *role,
                  .devices = {}};
    if (from.getDevices().size() > limits::node_devices_max)
        return error{errc::protocol, "a node names too many devices"};
    for (const auto device : from.getDevices())
        m.devices.push_back({device.getName(), device.getMemoryBytes(), device.getModel(),
                             device.getInstructionSet()});
    if (auto checked = check_member(m); !checked)
        return checked.failure();
    return m;
}

void write_members(capnp::List<proto::Member>::Builder to, const std::vector<member_info>& all) {
    for (unsigned i = 0; i < to.size(); ++i)
        write_member(to[i], all[i]);
}

result<std::vector<member_info>> read_members(capnp::List<proto::Member>::Reader from) {
    if (from.size() > limits::nodes_max)
        return error{errc::protocol, "more members are named than a cluster may have"};
    std::vector<member_info> all;
    for (const auto named : from) {
        auto m = read_member(named);
        if (!m)
            return m.failure();
        all.push_back(std::move(m).value());
    }
    return all;
}

// ---- membership ----

membership::membership(member_info self) : self_{self.node} {
    members_.emplace(self_, std::move(self));
}

const member_info* membership::find(node_id node) const {
    const auto found = members_.find(node);
    return found == members_.end() ? nullptr : &found->second;
}

std::vector<member_info> membership::list() const {
    std::vector<member_info> all;
    for (const auto& [node, m] : members_)
        all.push_back(m);
    return all;
}

std::vector<node_id> membership::others() const {
    std::vector<node_id> all;
    for (const auto& [node, m] : members_)
        if (node != self_)
            all.push_back(node);
    return all;
}

result<bool> membership::admit(const member_info& newcomer) {
    if (members_.contains(newcomer.node))
        return false;
    for (const auto& [node, m] : members_)
        if (m.name == newcomer.name)
            return error{errc::refused, "the name " + m.name + " is in use by the node at " +
                                            m.address + "; choose another with --name"};
    if (members_.size() >= limits::nodes_max)
        return error{errc::refused, "the cluster has " + std::to_string(limits::nodes_max) +
                                        " nodes, which is all it allows"};
    members_.emplace(newcomer.node, newcomer);
    return true;
}

std::optional<member_info> membership::remove(node_id node) {
    TROUPE_CHECK(node != self_, "a node stays a member of its own cluster");
    const auto found = members_.find(node);
    if (found == members_.end())
        return std::nullopt;
    member_info gone = std::move(found->second);
    members_.erase(found);
    return gone;
}

// ---- join_progress ----

std::string unreached_text(const unreached_member& m) {
    return "node " + m.name + " (" + m.address +
           ") is a member of the cluster, but cannot be reached from here: " + m.why;
}

join_progress::join_progress(const std::string& address)
    : address_{address}, state_{address.empty() ? state::joined : state::joining} {}

std::vector<member_info> join_progress::welcomed(const member_info& by,
                                                 const std::vector<member_info>& named,
                                                 const membership& known) {
    std::vector<member_info> strangers;
    if (state_ != state::joining)
        return strangers;
    first_contact_ = true;
    awaited_.erase(by.node);
    std::erase_if(unreached_, [&](const unreached_member& m) { return m.node == by.node; });
    for (const member_info& m : named)
        if (!known.contains(m.node) && awaited_.emplace(m.node, m).second)
            strangers.push_back(m);
    settle();
    return strangers;
}

void join_progress::lost(node_id node) {
    awaited_.erase(node);
    std::erase_if(unreached_, [&](const unreached_member& m) { return m.node == node; });
    settle();
}

void join_progress::unreachable(const std::string& at, const error& why) {
    if (state_ != state::joining)
        return;
    if (!first_contact_ && at == address_)
        state_ = state::failed;
    std::erase_if(awaited_, [&](const auto& entry) {
        const member_info& m = entry.second;
        if (m.address == at && m.role == peer_role::member)
            unreached_.push_back({m.node, m.name, m.address, why.message()});
        return m.address == at;
    });
    settle();
}

void join_progress::refused() {
    if (state_ == state::joining)
        state_ = state::failed;
}

void join_progress::settle() {
    if (state_ == state::joining && first_contact_ && awaited_.empty())
        state_ = state::joined;
}

} // namespace troupe

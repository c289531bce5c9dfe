// status: the nodes and devices of a cluster.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "actors/cluster/membership.hpp"
#include "actors/runtime/node_runtime.hpp"
#include "schemas/cluster.capnp.h"
#include "tools/inspector/observer.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/key_file.hpp"
#include "tools/troupe/node_host.hpp"
#include "tools/troupe/signals.hpp"
#include "transport/ucx/socket.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe::cli {

namespace {

constexpr std::uint64_t pool_bytes = 1u << 20; // no tensors come

result<std::vector<member_info>> read_members(proto::MemberList::Reader list) {
    std::vector<member_info> members;
    for (const auto m : list.getMembers()) {
        auto member = read_member(m);
        if (!member)
            return member.failure();
        members.push_back(std::move(member).value());
    }
    return members;
}

result<std::vector<member_info>> ask_members(const status_options& options) {
    auto key = cluster_key(options.key_file);
    if (!key)
        return key.failure();
    auto transports = parse_transport(options.transport);
    if (!transports)
        return transports.failure();
    const auto address = looked_up(options.address);
    if (!address)
        return address.failure();
    auto own = address_towards(*address);
    if (!own)
        return own.failure();
    const monotonic_clock time;
    memory_pool pool{pool_bytes};
    const node_id self = draw_node_id();
    ucx_options ucx;
    ucx.self = {self, "status-" + std::to_string(self.value()), key->empty() ? "127.0.0.1:0" : *own,
                peer_role::observer};
    ucx.key = *key;
    ucx.transports = *transports;
    ucx.pool = &pool;
    ucx.time = &time;
    auto network = make_ucx_endpoint(std::move(ucx));
    if (!network)
        return network.failure();
    inspector::observer view{**network, time, {.self = self, .stop = stop_flag()}};
    if (auto started = view.start(); !started)
        return started.failure();
    auto peer = view.connect(*address);
    if (!peer)
        return peer.failure();
    auto members = view.ask<proto::MemberList>({peer->node, well_known::cluster},
                                               frame_builder<proto::ListMembers>{}, read_members);
    if (!members)
        return members;
    for (member_info& m : *members)
        if (m.node == peer->node)
            m.address =
                peer->address; // it may listen on all addresses; this one is known to reach it
    std::ranges::sort(*members, {}, &member_info::name);
    return members;
}

const char* name_of(peer_role role) {
    switch (role) {
    case peer_role::member:
        return "node";
    case peer_role::client:
        return "run";
    case peer_role::observer:
        return "observer";
    }
    return "unknown";
}

} // namespace

int status(const status_options& options) {
    auto members = ask_members(options);
    if (!members)
        return report(members.failure());
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    for (const member_info& m : *members) {
        nlohmann::ordered_json devices = nlohmann::ordered_json::array();
        for (const device_info& d : m.devices)
            devices.push_back({{"name", d.name}, {"memory_bytes", d.memory_bytes}});
        nodes.push_back({{"name", m.name},
                         {"address", m.address},
                         {"role", name_of(m.role)},
                         {"devices", devices}});
    }
    if (options.json) {
        std::cout << nlohmann::ordered_json{{"nodes", nodes}}.dump(
                         -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                  << std::endl;
        return 0;
    }
    for (const auto& n : nodes) {
        std::cout << n["name"].get<std::string>() << "  " << n["role"].get<std::string>() << "  "
                  << n["address"].get<std::string>();
        for (const auto& d : n["devices"])
            std::cout << "  " << d["name"].get<std::string>();
        std::cout << '\n';
    }
    return 0;
}

} // namespace troupe::cli

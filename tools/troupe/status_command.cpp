// status: the nodes and devices of a cluster.
#include <algorithm>
#include <iostream>

#include "actors/cluster/membership.hpp"
#include "actors/runtime/link_messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "schemas/base/json.hpp"
#include "schemas/cluster.capnp.h"
#include "tools/inspector/observer.hpp"
#include "tools/inspector/observer_network.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/troupe/cluster_access.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/node_host.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

struct linked_member {
    member_info member;
    std::string
        over; // what frames to it go over from the node that was asked; empty: that node itself
};

result<std::vector<linked_member>> read_list(proto::MemberList::Reader list) {
    const auto members = read_members(list.getMembers());
    if (!members)
        return members.failure();
    const auto links = read_links(list.getLinks());
    if (!links)
        return links.failure();
    std::vector<linked_member> all;
    for (const member_info& m : *members) {
        const auto link = links->find(m.node);
        all.push_back({m, link != links->end() ? link->second : ""});
    }
    return all;
}

result<std::vector<linked_member>> ask_members(const status_options& options) {
    const auto access = open_access(options.access, peer_role::observer, options.address);
    if (!access)
        return access.failure();
    const auto made = inspector::make_observer_network(
        {.program = "status", .address = options.address, .access = *access});
    if (!made)
        return made.failure();
    const inspector::observer_network& own = **made;
    inspector::observer view{
        *own.network, own.time, {.self = own.self, .stop = [] { return stop_signals() > 0; }}};
    if (auto started = view.start(); !started)
        return started.failure();
    auto peer = view.connect(own.address);
    if (!peer)
        return peer.failure();
    auto members = view.ask<proto::MemberList>({peer->node, well_known::cluster},
                                               frame_builder<proto::ListMembers>{}, read_list);
    if (!members)
        return members;
    for (linked_member& m : *members)
        if (m.member.node == peer->node)
            m.member.address =
                peer->address; // it may listen on all addresses; this one is known to reach it
    std::ranges::sort(*members, {}, [](const linked_member& m) { return m.member.name; });
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

// "cpu:0", "cuda:0 (NVIDIA H200, 127 GB to use)"
std::string described(const json& device) {
    const auto name = device["name"].text().value(), model = device["model"].text().value();
    const auto bytes = device["memory_bytes"].count().value();
    return model.empty() ? name
                         : name + " (" + model + ", " + inspector::bytes_text(bytes) + " to use)";
}

} // namespace

int status(const status_options& options) {
    auto members = ask_members(options);
    if (!members)
        return report(members.failure());
    json nodes = json::array();
    for (const auto& [m, over] : *members) {
        json devices = json::array();
        for (const device_info& d : m.devices)
            devices.push_back(
                {{"name", d.name}, {"memory_bytes", d.memory_bytes}, {"model", d.model}});
        nodes.push_back({{"name", m.name},
                         {"address", m.address},
                         {"role", name_of(m.role)},
                         {"devices", devices},
                         {"over", over.empty() ? json(nullptr) : json(over)}});
    }
    if (options.json) {
        std::cout << json{{"nodes", nodes}}.dump() << std::endl;
        return 0;
    }
    for (const json& n : nodes.items()) {
        std::cout << n["name"].text().value() << "  " << n["role"].text().value() << "  "
                  << n["address"].text().value();
        for (const json& d : n["devices"].items())
            std::cout << "  " << described(d);
        if (const auto over = n["over"].text())
            std::cout << "  over " << *over;
        std::cout << '\n';
    }
    return 0;
}

} // namespace troupe::cli

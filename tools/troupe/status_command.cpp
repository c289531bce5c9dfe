// status: the nodes and devices of a cluster.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "actors/cluster/missing_links.hpp"
#include "actors/runtime/link_messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/nearest.hpp"
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

// The answer of one node about its cluster.
struct told_members {
    std::vector<member_info> members;
    std::map<node_id, std::string> links; // what frames to each of its peers go over
};

result<told_members> read_list(proto::MemberList::Reader list) {
    auto members = read_members(list.getMembers());
    if (!members)
        return members.failure();
    auto links = read_links(list.getLinks());
    if (!links)
        return links.failure();
    return told_members{std::move(*members), std::move(*links)};
}

result<told_members> ask(inspector::observer& view, node_id node) {
    return view.ask<proto::MemberList>({node, well_known::cluster},
                                       frame_builder<proto::ListMembers>{}, read_list);
}

std::set<node_id> peers_of(const told_members& told) {
    std::set<node_id> peers;
    for (const auto& [peer, over] : told.links)
        peers.insert(peer);
    return peers;
}

struct cluster_state {
    told_members seen;                // by the node that was asked, by name
    std::vector<member_info> members; // also those that only others know
    std::vector<unlinked_pair> apart;
    std::vector<std::string> unasked; // nodes that did not say which others they reach
};

// For questions to all the other nodes, some of which may be out of this process's reach.
constexpr duration asking_time = std::chrono::seconds{3};
// Nodes that are just joining have links to all others by then.
constexpr duration joining_time = std::chrono::seconds{1};

// The answers of these nodes. Errors: errc::cancelled alone.
result<told_peers> ask_nodes(inspector::observer& view, const std::set<node_id>& nodes) {
    told_peers told;
    for (const node_id node : nodes) {
        const auto says = ask(view, node);
        if (says)
            told[node] = peers_of(*says);
        else if (says.failure().code() == errc::cancelled)
            return says.failure();
    }
    return told;
}

result<void> look_for_pairs(inspector::observer& view, node_id asked, cluster_state& state) {
    told_peers told{{asked, peers_of(state.seen)}};
    std::set<node_id> reached{asked};
    state.members = state.seen.members;
    const time_point until = view.time().now() + asking_time;
    for (std::size_t i = 0; i < state.members.size(); ++i) {
        const member_info m = state.members[i];
        if (m.node == asked || m.role != peer_role::member)
            continue;
        state.unasked.push_back(m.name); // until it has answered
        if (view.time().now() >= until)
            continue;
        const auto peer = view.connect(m.address);
        if (!peer && peer.failure().code() == errc::cancelled)
            return peer.failure();
        if (!peer || peer->node != m.node)
            continue;
        const auto says = ask(view, m.node);
        if (!says && says.failure().code() == errc::cancelled)
            return says.failure();
        if (!says)
            continue;
        state.unasked.pop_back();
        reached.insert(m.node);
        told[m.node] = peers_of(*says);
        for (const member_info& other : says->members)
            if (std::ranges::find(state.members, other.node, &member_info::node) ==
                state.members.end())
                state.members.push_back(other);
    }
    std::ranges::sort(state.members, {}, &member_info::name);
    state.apart = unlinked_pairs(state.members, told);
    if (state.apart.empty())
        return {};
    std::this_thread::sleep_for(joining_time);
    const auto again = ask_nodes(view, reached);
    if (!again)
        return again.failure();
    state.apart = unlinked_pairs(state.members, *again);
    return {};
}

result<cluster_state> ask_cluster(const status_options& options) {
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
    const auto peer = view.connect(own.address);
    if (!peer)
        return peer.failure();
    auto seen = ask(view, peer->node);
    if (!seen)
        return seen.failure();
    for (member_info& m : seen->members)
        if (m.node == peer->node)
            m.address =
                peer->address; // it may listen on all addresses; this one is known to reach it
    std::ranges::sort(seen->members, {}, &member_info::name);
    cluster_state state{.seen = std::move(*seen)};
    if (auto looked = look_for_pairs(view, peer->node, state); !looked)
        return looked.failure();
    return state;
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

std::string name_in(const std::vector<member_info>& members, node_id node) {
    return std::ranges::find(members, node, &member_info::node)->name;
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
    const auto state = ask_cluster(options);
    if (!state)
        return report(state.failure());
    json nodes = json::array();
    for (const member_info& m : state->seen.members) {
        const auto link = state->seen.links.find(m.node);
        json devices = json::array();
        for (const device_info& d : m.devices)
            devices.push_back(
                {{"name", d.name}, {"memory_bytes", d.memory_bytes}, {"model", d.model}});
        nodes.push_back(
            {{"name", m.name},
             {"address", m.address},
             {"role", name_of(m.role)},
             {"devices", devices},
             {"over", link == state->seen.links.end() ? json(nullptr) : json(link->second)}});
    }
    json apart = json::array();
    for (const auto& [one, other] : state->apart)
        apart.push_back(
            json::array({name_in(state->members, one), name_in(state->members, other)}));
    if (options.json) {
        json unasked = json::array();
        for (const std::string& name : state->unasked)
            unasked.push_back(name);
        std::cout << json{{"nodes", nodes}, {"apart", apart}, {"unasked", unasked}}.dump()
                  << std::endl;
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
    for (const unlinked_pair& pair : state->apart)
        std::cout << unlinked_text(state->members, pair) << '\n';
    if (!state->unasked.empty())
        std::cout << "not asked which others they reach, as they did not answer here: "
                  << join(state->unasked) << '\n';
    return 0;
}

} // namespace troupe::cli

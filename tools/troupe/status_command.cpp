// status: the nodes and devices of a cluster.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>

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
#include "tools/troupe/cluster_links.hpp"
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

struct cluster_state {
    told_members seen;                // by the node that was asked, by name
    std::vector<member_info> members; // also those that only others know
    std::vector<unlinked_pair> apart;
    std::map<node_id, std::string> troubles; // of nodes that did not say which others they reach
};

// For the connections to all the other nodes, some of which may hang or be out of this process's reach.
constexpr duration connecting_time = std::chrono::seconds{3};

std::string silence_text(duration length) {
    return "answers nothing for " +
           std::to_string(std::chrono::round<std::chrono::seconds>(length).count()) + " s";
}

// Asks a node that is connected. Errors: errc::cancelled alone; other ones are troubles.
result<void> ask_peer(inspector::observer& view, node_id node, link_survey& survey,
                      cluster_state& state) {
    const time_point began = view.time().now();
    const auto says = ask(view, node);
    if (says) {
        state.troubles.erase(node);
        survey.answered(node, peers_of(says->links));
        for (const member_info& other : says->members) {
            survey.meet(other);
            if (std::ranges::find(state.members, other.node, &member_info::node) ==
                state.members.end())
                state.members.push_back(other);
        }
    } else if (says.failure().code() == errc::cancelled) {
        return says.failure();
    } else {
        state.troubles[node] = silence_text(view.time().now() - began);
    }
    return {};
}

// Connects to these members and asks them.
result<void> reach(inspector::observer& view, const std::vector<member_info>& members,
                   link_survey& survey, cluster_state& state) {
    std::vector<std::string> addresses;
    for (const member_info& m : members)
        addresses.push_back(m.address);
    const time_point began = view.time().now();
    const auto connected = view.connect_all(addresses, connecting_time);
    for (const member_info& m : members) {
        const auto why = connected.failed.find(m.address);
        state.troubles[m.node] =
            why != connected.failed.end()
                ? "cannot be asked from here: " + inspector::printable(why->second.message(), 512)
                : silence_text(view.time().now() - began);
    }
    for (const peer_info& peer : connected.peers)
        if (std::ranges::find(members, peer.node, &member_info::node) != members.end())
            if (auto asked = ask_peer(view, peer.node, survey, state); !asked)
                return asked;
    return {};
}

result<void> look_for_pairs(inspector::observer& view, node_id asked, cluster_state& state) {
    link_survey survey{state.seen.members};
    survey.answered(asked, peers_of(state.seen.links));
    state.members = state.seen.members;
    const auto is_new = [&](const member_info& m) {
        return m.node != asked && !survey.told().contains(m.node) &&
               !state.troubles.contains(m.node);
    };
    for (;;) {
        std::vector<member_info> next;
        std::ranges::copy_if(survey.asked(), std::back_inserter(next), is_new);
        if (next.empty())
            break;
        if (auto reached = reach(view, next, survey, state); !reached)
            return reached;
    }
    const time_point until = view.time().now() + link_survey::length;
    while (!survey.apart().empty() && view.time().now() < until) {
        view.rest(link_survey::again);
        for (const auto& [node, peers] : told_peers{survey.told()})
            if (auto again = ask_peer(view, node, survey, state); !again)
                return again;
    }
    std::ranges::sort(state.members, {}, &member_info::name);
    state.apart = unlinked_pairs(state.members, survey.told());
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
        const auto trouble = state->troubles.find(m.node);
        json devices = json::array();
        for (const device_info& d : m.devices)
            devices.push_back(
                {{"name", d.name}, {"memory_bytes", d.memory_bytes}, {"model", d.model}});
        nodes.push_back(
            {{"name", m.name},
             {"address", m.address},
             {"role", name_of(m.role)},
             {"devices", devices},
             {"over", link == state->seen.links.end() ? json(nullptr) : json(link->second)},
             {"trouble",
              trouble == state->troubles.end() ? json(nullptr) : json(trouble->second)}});
    }
    json apart = json::array();
    for (const auto& [one, other] : state->apart)
        apart.push_back(
            json::array({name_in(state->members, one), name_in(state->members, other)}));
    if (options.json) {
        json unasked = json::array();
        for (const auto& [node, why] : state->troubles)
            unasked.push_back(name_in(state->members, node));
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
        if (const auto trouble = n["trouble"].text())
            std::cout << "  " << *trouble;
        std::cout << '\n';
    }
    for (const unlinked_pair& pair : state->apart)
        std::cout << unlinked_text(state->members, pair) << '\n';
    return 0;
}

} // namespace troupe::cli

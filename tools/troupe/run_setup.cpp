#include "tools/troupe/run_setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "actors/cluster/missing_links.hpp"
#include "tools/troupe/cluster_links.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe::cli {

namespace {

constexpr const char* alone_name = "local"; // of a node without others

std::string default_devices(const job& of) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    return of.is_for_one_device() ? "cpu:1" : "cpu:" + std::to_string(cores);
}

// Takes members out so that all that are left reach each other. Refused if the job then does not fit on them.
result<void> leave_out_unlinked(std::vector<member_info>& members, const job& of,
                                run_nodes& nodes) {
    const auto told = ask_links(nodes.host->runtime(), members);
    if (!told)
        return told.failure();
    const auto pairs = unlinked_pairs(members, *told);
    const auto left = fewest_to_leave(members, pairs);
    if (left.empty())
        return {};
    nodes.left_out = left_texts(members, pairs, left);
    std::erase_if(members, [&](const member_info& m) {
        return std::ranges::find(left, m.node) != left.end();
    });
    const auto fits = of.check_place(devices_of(members));
    if (fits)
        return {};
    std::string message = fits.failure().message();
    for (const std::string& sentence : nodes.left_out)
        message += "; " + sentence;
    return error{fits.failure().code(), message};
}

} // namespace

std::vector<plan_device> devices_of_nodes(std::uint32_t nodes, std::uint64_t memory_bytes) {
    std::vector<plan_device> devices;
    for (std::uint32_t n = 0; n < nodes; ++n)
        devices.push_back({.node = node_id{n + 1},
                           .node_name = "node-" + std::to_string(n),
                           .device = "cpu:0",
                           .memory_bytes = memory_bytes});
    return devices;
}

std::vector<plan_device> devices_of_process(const device_choice& chosen) {
    std::vector<plan_device> devices;
    for (const std::string& name : chosen.names())
        devices.push_back({node_id{1}, alone_name, name});
    return devices;
}

result<run_nodes> bring_together(const run_options& options, const job& of, job_table jobs) {
    run_nodes nodes;
    node_host_options host{.jobs = jobs, .role = peer_role::client, .tracing = !options.no_trace};
    host.node.access = options.access;
    const bool alone = options.nodes == 0 && options.cluster.empty();
    host.node.name = alone ? alone_name : "run-" + host_name() + "-" + std::to_string(getpid());
    host.node.join = options.cluster;
    host.node.devices = "";
    host.node.memory_mb = options.memory_mb;
    if (!options.cluster.empty()) {
        auto listen = address_towards(options.cluster);
        if (!listen)
            return listen.failure().in("--cluster");
        if (options.access.key_file.empty() && !resolve(*listen)->is_loopback())
            return error{errc::usage, "--cluster: " + options.cluster +
                                          " is an address that other machines reach, whose "
                                          "nodes want the cluster's key; give it by --key FILE"};
        host.node.listen = *listen;
    }
    if (options.nodes > 0) {
        // A fault of the keys is told once, by the run, and not by each child.
        if (const auto usable = open_access(options.access, peer_role::member, host.node.listen);
            !usable)
            return usable.failure();
        auto children = child_nodes::start(
            {options.nodes, options.access, options.memory_mb, options.no_trace, options.modules});
        if (!children)
            return children.failure();
        nodes.children = std::move(children).value();
        host.node.join = nodes.children->address();
    } else if (alone) {
        host.node.devices = options.devices.empty() ? default_devices(of) : options.devices;
        host.node.gpu_memory_mb = options.gpu_memory_mb;
    }
    auto started = node_host::start(host);
    if (!started)
        return started.failure();
    nodes.host = std::move(started).value();
    auto members = nodes.host->members();
    if (!members)
        return members.failure();
    if (!options.cluster.empty())
        if (auto ok = leave_out_unlinked(*members, of, nodes); !ok)
            return ok.failure();
    nodes.devices = devices_of(*members);
    for (const member_info& m : *members)
        if (m.role == peer_role::client && m.name != nodes.host->name())
            nodes.others.push_back(m.name);
    if (nodes.devices.empty())
        return error{errc::unreachable,
                     "the cluster at " + options.cluster + " has no devices; start `troupe node`s"};
    return nodes;
}

void note_list::add(const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences)
        if (is_json_)
            kept_.push_back(sentence);
        else
            note(sentence);
}

memory_advice advice_on_memory(const run_options& options) {
    const bool of_cluster = !options.cluster.empty();
    const std::string larger =
        of_cluster ? ", or start nodes with a larger bound: troupe node " : ", or a larger bound: ";
    memory_advice advice{larger + "--memory-mb", larger + "--gpu-memory-mb"};
    if (!of_cluster && options.gpu_memory_mb == 0)
        advice.of_gpus = ""; // what is free is theirs
    return advice;
}

} // namespace troupe::cli

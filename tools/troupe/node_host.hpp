// A node in this process, put together: endpoint, runtime, devices, and the actors with well-known numbers.
//
// The one place that chooses concrete parts (time source, timers, UCX, devices) for `run` and `node`.
//
// Threads: the owner's, which must not be an actor's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/cluster/membership.hpp"
#include "actors/run/plan_device.hpp"
#include "actors/runtime/node_runtime.hpp"
#include "kernels/device/device.hpp"
#include "tools/troupe/commands.hpp"
#include "transport/node/node_endpoint.hpp"

namespace troupe::cli {

struct node_host_options {
    job_table jobs; // kinds of jobs whose roles and services the node has
    node_choice node;
    peer_role role = peer_role::member;
    bool tracing = true;
    std::size_t trace_events = limits::trace_events_default;
    // Gets a sentence for each event of the node. Called on actors' and the network's threads; must only hand it on. May be
    // empty.
    std::function<void(const std::string&)> log;
};

class node_host {
  public:
    // Listens, and joins a cluster if one is given. Blocks until the outcome is known. errc::cancelled if a signal comes.
    static result<std::unique_ptr<node_host>> start(const node_host_options& options);
    ~node_host(); // stops actors, then connections, then devices

    node_runtime& runtime() noexcept;
    const time_source& time() const noexcept;
    std::string address() const; // HOST:PORT
    const std::string& name() const noexcept;
    // Sentences on members of the cluster that could not be connected to when it was joined.
    const std::vector<std::string>& unreached() const noexcept;

    // A background thread for files and batches, apart from the devices.
    std::shared_ptr<device> io();

    // Reads the file of --key again: new connections use its keys, those that stand stay. After an error the node keeps the
    // keys that it has. The errors of open_keys().
    result<void> read_keys_again();

    // The members of the cluster by name, this node included.
    result<std::vector<member_info>> members();

  private:
    struct parts;
    explicit node_host(std::unique_ptr<parts> p);
    std::unique_ptr<parts> parts_;
};

// The devices of these members on which actors of a run may be placed: one of each node in turn, so that neighbouring
// stages lie on different nodes when there are enough.
std::vector<plan_device> devices_of(const std::vector<member_info>& members);

// The command for inspecting a node; HOST stands for its machine if it listens on all addresses.
std::string attach_command(const std::string& address, const node_choice& node);

// The name of this machine, short enough to be part of a node's name.
std::string host_name();

} // namespace troupe::cli

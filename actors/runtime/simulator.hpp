// Many nodes in one thread, with virtual time: the same actors as on real nodes, under a seeded scheduler, on a seeded
// network, with virtual timers and devices whose work takes modelled time. Same seed, same trace.
//
//     simulator sim{{.seed = 7}};
//     node_runtime& a = sim.add_node("a");
//     ... spawn actors, connect nodes ...
//     sim.run_until([&] { return trainer_done; }, std::chrono::minutes{10});
//
// A node handles one message at a time, each of which takes `message_time`; which of its actors is next, and which node
// of those that could, is drawn from the seed. So every order that threads could produce is produced by some seed.
//
// Threads: one. Ownership: nodes, their endpoints, timers and devices belong to the simulator.
// Errors: an unknown node is a bug of the caller.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/runtime/node_runtime.hpp"
#include "actors/runtime/sim_device.hpp"
#include "transport/sim/sim_network.hpp"

namespace troupe {

struct simulator_options {
    std::uint64_t seed = 1;
    sim_network_options network; // its seed is replaced by one drawn from ours
    send_bounds bounds;          // bounds of every node's queues
    duration message_time = std::chrono::microseconds{1}; // time to handle one message; above 0
    std::size_t trace_events = 1u << 12;                  // per node
    std::shared_ptr<const message_catalog> messages;      // as node_options::messages
};

class simulator {
  public:
    explicit simulator(simulator_options options);
    ~simulator();
    simulator(const simulator&) = delete;
    simulator& operator=(const simulator&) = delete;

    // Adds a started node that listens at "sim:NAME". Ids count from 1.
    node_runtime& add_node(const std::string& name, peer_role role = peer_role::member);
    // The same; `prepare` is called before the node starts to listen, for example to spawn well-known actors.
    node_runtime& add_node(const std::string& name, peer_role role,
                           const std::function<void(node_runtime&)>& prepare);
    // Adds a device of that node, which computes with `ops` in memory of its own pool.
    sim_device& add_device(const node_runtime& node, sim_device_options options, operations& ops);

    // Runs until `done` holds, which is called after every step, or for at most `limit` of virtual time. Returns whether
    // `done` holds. Ends early if nothing can happen any more.
    bool run_until(const std::function<bool()>& done, duration limit);
    void run_for(duration time);

    // Faults. A killed node's actors end without anything leaving the node; a stopped node does nothing until resumed.
    void kill(const node_runtime& node);
    void stop(const node_runtime& node);
    void resume(const node_runtime& node);
    void partition(const node_runtime& a, const node_runtime& b);
    void heal();

    sim_network& network() noexcept { return *network_; }
    event_queue& events() noexcept { return events_; }
    time_point now() const noexcept { return events_.now(); }

    // A hash of everything that was traced on any node so far, with all times.
    std::uint64_t trace_hash();
    std::uint64_t messages_handled() const noexcept { return steps_; }

  private:
    class node_timers;
    struct sim_node;

    sim_node& find(const node_runtime& node);
    bool step();      // handles one message, or the next event; false if nothing can happen
    bool step_node(); // handles one message of a node that may take one now
    std::optional<time_point> next_time() const;
    void fold_trace(sim_node& node);

    const simulator_options options_;
    random_stream random_;
    // Destroyed last, because frames on their way lie in the devices' memory.
    std::vector<std::unique_ptr<sim_device>> devices_;
    event_queue events_;
    std::unique_ptr<sim_network> network_;
    std::vector<std::unique_ptr<sim_node>> nodes_;
    std::uint64_t steps_ = 0;
};

} // namespace troupe

// Eight nodes that form a cluster and pass probes on at random: a workload for the simulator itself.
#pragma once

#include <cstdint>

#include "actors/cluster/cluster_actor.hpp"
#include "actors/runtime/simulator.hpp"
#include "schemas/base/random.hpp"
#include "schemas/probe.capnp.h"

namespace troupe {

// What goes wrong while the probes travel.
enum class relay_faults : std::uint8_t {
    none,
    network, // delays, drops, copies, and so changes of order
    all,     // also a partition, a stopped and a killed node
};

struct relay_outcome {
    std::uint64_t trace_hash = 0;
    std::uint64_t messages = 0;   // handled, on all nodes
    std::uint64_t arrived = 0;    // probes that made all their hops
    std::uint64_t lost_nodes = 0; // told to subscribers
    std::uint64_t retransmitted = 0;
};

// Passes a probe on to a relay drawn at random until its hops are used up; starts one of its own every 10 ms.
class relay_actor final : public actor {
  public:
    relay_actor(actor_context& context, relay_outcome& outcome, std::uint64_t seed)
        : actor{context}, outcome_{outcome}, random_{seed, self().node.value()} {
        on<proto::Probe>(&relay_actor::pass_on);
        on<proto::MemberList>(&relay_actor::count_members);
        on<proto::NodeJoined>(&relay_actor::add_member);
        on<proto::NodeLost>(&relay_actor::lose_member);
    }

  private:
    void on_start() override {
        send({self().node, well_known::cluster}, frame_builder<proto::Subscribe>{});
        after(std::chrono::milliseconds{10}, own_probe());
    }
    frame_builder<proto::Probe> own_probe() {
        frame_builder<proto::Probe> b;
        b.body().setHops(8);
        b.body().setNumber(++started_);
        return b;
    }
    void pass_on(proto::Probe::Reader body, const frame& f) {
        if (f.from() == self() && body.getHops() == 8)
            after(std::chrono::milliseconds{10}, own_probe());
        if (body.getHops() == 0) {
            ++outcome_.arrived;
            return;
        }
        frame_builder<proto::Probe> next;
        next.body().setNumber(body.getNumber());
        next.body().setHops(body.getHops() - 1);
        next.envelope().setWork(body.getNumber());
        send({peers_.empty() ? self().node : peers_[random_.below(peers_.size())], self().actor},
             std::move(next));
    }
    void count_members(proto::MemberList::Reader list, const frame&) {
        for (const auto m : list.getMembers())
            peers_.push_back(node_id{m.getNode()});
    }
    void add_member(proto::NodeJoined::Reader news, const frame&) {
        peers_.push_back(node_id{news.getMember().getNode()});
    }
    void lose_member(proto::NodeLost::Reader news, const frame&) {
        ++outcome_.lost_nodes;
        std::erase(peers_, node_id{news.getNode()});
    }

    relay_outcome& outcome_;
    random_stream random_;
    std::vector<node_id> peers_;
    std::uint64_t started_ = 0;
};

inline relay_outcome run_relay(std::uint64_t seed, relay_faults faults) {
    using namespace std::chrono_literals;
    constexpr std::size_t nodes = 8;
    relay_outcome outcome;
    simulator_options options{.seed = seed};
    if (faults != relay_faults::none)
        options.network.faults = {
            .delay_min = 100us, .delay_max = 20ms, .drop = 0.05, .duplicate = 0.05};
    simulator sim{options};
    std::vector<node_runtime*> all;
    for (std::size_t i = 0; i < nodes; ++i)
        all.push_back(
            &sim.add_node("n" + std::to_string(i), peer_role::member, [&](node_runtime& node) {
                node.spawn_as<cluster_actor>(well_known::cluster, "cluster",
                                             cluster_options{.join = i == 0 ? "" : "sim:n0"});
                node.spawn<relay_actor>("relay", outcome, seed);
            }));
    sim.run_for(2s);
    if (faults == relay_faults::all) {
        sim.partition(*all[1], *all[2]);
        sim.stop(*all[3]);
        sim.run_for(500ms);
        sim.kill(*all[4]);
        sim.run_for(1s);
        sim.resume(*all[3]);
        sim.run_for(4s);
        sim.heal();
    }
    sim.run_for(2s);
    outcome.trace_hash = sim.trace_hash();
    outcome.messages = sim.messages_handled();
    outcome.retransmitted = sim.network().statistics().packets_retransmitted;
    return outcome;
}

} // namespace troupe

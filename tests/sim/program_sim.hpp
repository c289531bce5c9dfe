// A run of a program on simulated nodes, with the network's faults drawn from a seed.
#pragma once

#include <capnp/message.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/agent/node_agent.hpp"
#include "actors/messages.hpp"
#include "actors/run/run_messages.hpp"
#include "actors/runtime/simulator.hpp"
#include "actors/runtime/well_known.hpp"
#include "actors/scheduled/balance.hpp"
#include "actors/scheduled/leader.hpp"
#include "actors/scheduled/scheduled_messages.hpp"
#include "kernels/reference/reference.hpp"

namespace troupe::test {

struct program_sim_shape {
    scheduled::program what;
    std::shared_ptr<scheduled::piece_source> data;
    std::uint32_t workers = 2;
    std::uint32_t schedulers = 1;
    std::uint32_t window = 2;
    std::uint32_t blocks_per_worker = 0; // 0: the variables do not rotate
    std::size_t nodes = 3;
    std::string result = {}; // a folder
    duration between_commits = std::chrono::milliseconds{5};
    std::shared_ptr<scheduled::run_checkpoints> checkpoints = {};
    std::optional<std::vector<scheduled::saved_state>> resume = {};
    std::map<std::size_t, scheduled::saved_state> resumed_ends = {};
    bool is_stormy = true; // drops, delays, duplicates, reorders
    std::uint64_t device_memory = 1u << 28;
};

struct program_news final : run_listener {
    void started(const run_started&) override { ++starts; }
    void reached(const run_milestone& news) override { milestones.push_back(news); }
    void noted(const run_note& news) override { notes.push_back(news.sentence); }
    void finished(const run_finished& news) override { outcome = news; }

    int starts = 0;
    std::vector<run_milestone> milestones;
    std::vector<std::string> notes;
    std::optional<run_finished> outcome;
};

class program_sim {
  public:
    // `write`: fills in the app file's settings of the program, and what else it says.
    template <class Write>
    program_sim(std::uint64_t seed, program_sim_shape shape, Write write)
        : shape_{std::move(shape)}, sim_{{.seed = seed,
                                          .messages = catalog_of(run_messages{},
                                                                 scheduled::scheduled_messages{})}},
          run_node_{&sim_.add_node("run", peer_role::client)} {
        auto app = app_.initRoot<proto::ProgramApp>();
        app.initProgram().setName(shape_.what.name);
        if (shape_.blocks_per_worker > 0) {
            auto schedule = app.initSchedule().initRotation();
            schedule.setBlocksPerWorker(shape_.blocks_per_worker);
            schedule.setWindow(shape_.window);
        } else {
            app.initSchedule().initDynamic().setWindow(shape_.window);
        }
        app.setSeed(seed_of_program);
        if (!shape_.result.empty())
            app.initResult().setDirectory(shape_.result);
        if (shape_.checkpoints)
            app.initCheckpoint().setDirectory("said to the leader");
        write(app);
        add_nodes();
        spawn(app.asReader());
    }

    const run_finished& to_the_end() {
        sim_.run_until([&] { return news_.outcome.has_value(); }, std::chrono::minutes{60});
        BOOST_REQUIRE(news_.outcome.has_value());
        return *news_.outcome;
    }
    // The others notice it as soon as they send, which heartbeats see to on real nodes.
    void kill(std::size_t n) {
        sim_.kill(*nodes_[n]);
        sim_.run_for(std::chrono::milliseconds{100});
        const actor_address dead{nodes_[n]->node(), well_known::agent};
        run_node_->send(dead, frame_builder<proto::Release>{});
        for (std::size_t m = 0; m < nodes_.size(); ++m)
            if (m != n)
                nodes_[m]->send(dead, frame_builder<proto::Release>{});
    }
    // Two nodes lose each other, and all others keep both: they notice it as soon as they send.
    void cut(std::size_t a, std::size_t b) {
        sim_.partition(*nodes_[a], *nodes_[b]);
        nodes_[a]->send({nodes_[b]->node(), well_known::agent}, frame_builder<proto::Release>{});
        nodes_[b]->send({nodes_[a]->node(), well_known::agent}, frame_builder<proto::Release>{});
    }
    simulator& sim() { return sim_; }
    node_runtime& node(std::size_t n) { return *nodes_[n]; }
    std::size_t nodes() const { return nodes_.size(); }
    node_runtime& run_node() const { return *run_node_; }
    actor_address root() const { return root_; }
    device& io() const { return *io_; } // of the leader
    const program_news& news() const { return news_; }

  private:
    static constexpr std::uint64_t seed_of_program = 5;

    void add_nodes() {
        const auto programs = std::make_shared<scheduled::program_table>();
        programs->push_back(shape_.what);
        for (std::size_t n = 0; n < shape_.nodes; ++n) {
            nodes_.push_back(&sim_.add_node("node-" + std::to_string(n)));
            nodes_[n]->spawn_as<node_agent>(well_known::agent, "agent",
                                            node_agent_options{scheduled::program_roles(programs),
                                                               {device_of(*nodes_[n], "sim:0")}});
            devices_.push_back({.node = nodes_[n]->node(),
                                .node_name = nodes_[n]->options().name,
                                .device = "sim:0"});
            for (std::size_t m = 0; m < n; ++m)
                nodes_[n]->connect("sim:node-" + std::to_string(m));
            run_node_->connect("sim:node-" + std::to_string(n));
        }
        sim_.run_until(
            [&] {
                return run_node_->peers().size() == nodes_.size() &&
                       std::ranges::all_of(nodes_, [&](const node_runtime* n) {
                           return n->peers().size() == nodes_.size();
                       });
            },
            std::chrono::minutes{5});
        if (shape_.is_stormy)
            sim_.network().set_faults({.delay_min = std::chrono::microseconds{10},
                                       .delay_max = std::chrono::milliseconds{3},
                                       .drop = 0.05,
                                       .duplicate = 0.05});
    }

    void spawn(proto::ProgramApp::Reader app) {
        const auto& data = *shape_.data;
        scheduled::program_run run{app, &shape_.what, {}};
        run.shares =
            scheduled::share_out(data, {shape_.workers, shape_.schedulers,
                                        std::size_t{shape_.workers} * shape_.blocks_per_worker,
                                        shape_.what.every_worker_has_all_rows});
        io_ = device_of(*run_node_, "io");
        scheduled::leader_options options{.run = 77,
                                          .listener = &news_,
                                          .io = io_,
                                          .what = std::move(run),
                                          .data = shape_.data,
                                          .devices = devices_,
                                          .between_commits = shape_.between_commits,
                                          .checkpoints = shape_.checkpoints,
                                          .resume = shape_.resume,
                                          .resumed_ends = shape_.resumed_ends,
                                          .result_mark =
                                              R"({"program": ")" + shape_.what.name + R"("})"};
        root_ = run_node_->spawn_of_run<scheduled::leader>(77, "leader", std::move(options));
    }

    std::shared_ptr<device> device_of(const node_runtime& node, const std::string& name) {
        return {std::shared_ptr<void>{},
                &sim_.add_device(node, {.name = name, .memory_bytes = shape_.device_memory},
                                 *operations_)};
    }

    const program_sim_shape shape_;
    std::unique_ptr<operations> operations_ = make_reference_operations();
    capnp::MallocMessageBuilder app_;
    program_news news_;
    simulator sim_;
    node_runtime* run_node_;
    std::vector<node_runtime*> nodes_;
    std::vector<plan_device> devices_;
    actor_address root_;
    std::shared_ptr<device> io_;
};

} // namespace troupe::test

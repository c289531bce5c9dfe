// A whole training run in the simulator: a run node with trainer and data source, and nodes with one device each.
#pragma once

#include <functional>

#include "actors/agent/node_agent.hpp"
#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/pipeline/layer_profiler.hpp"
#include "actors/runtime/simulator.hpp"
#include "actors/training/trainer.hpp"
#include "actors/training/training_roles.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "tests/support/all_messages.hpp"
#include "tests/support/pipeline_app.hpp"
#include "tests/support/recorded_run.hpp"
#include "tests/support/sequential.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe::test {

inline constexpr sim_faults storm{.delay_min = std::chrono::microseconds{10},
                                  .delay_max = std::chrono::milliseconds{20},
                                  .drop = 0.05,
                                  .duplicate = 0.05};

struct pipeline_sim_options {
    std::uint64_t seed = 1;
    sim_faults faults;
    std::size_t nodes = 2;
    std::size_t devices_of_node = 1;
    std::size_t spare_nodes = 0; // beside these, of which the run does not know yet
    std::string app;
    double flops_per_second = 1e11; // of every device
    double slow_last = 1;           // how many times as long the last node's devices take
    std::function<void(node_runtime&)>
        last_agent; // spawns what stands where the last node's agent would; may be empty
    // What each device computes with, numbered over all nodes; empty: all with the same.
    std::function<operations&(std::size_t device)> operations_of;
};

class pipeline_sim {
  public:
    explicit pipeline_sim(const pipeline_sim_options& options)
        : app_{parse_training(options.app, "app.yaml").value()}, sim_{
                                                                     {.seed = options.seed,
                                                                      .messages = all_messages()}} {
        data_ = std::make_shared<const data_sets>(
            load_data(app_.app().getData(), input_form(app_.app().getModel()).value().shape,
                      app_.app().getTrain().getSeed())
                .value());
        run_ = &sim_.add_node("run", peer_role::client);
        worker_ =
            shared(sim_.add_device(*run_, {.name = "worker", .seed = options.seed}, *operations_));
        for (std::size_t n = 0; n < options.nodes + options.spare_nodes; ++n) {
            const std::string name = "node-" + std::to_string(n);
            node_runtime& node = sim_.add_node(name);
            std::vector<std::shared_ptr<device>> devices;
            for (std::size_t d = 0; d < options.devices_of_node; ++d) {
                const std::string device_name = "sim:" + std::to_string(d);
                devices.push_back(shared(sim_.add_device(
                    node,
                    {.name = device_name,
                     .flops_per_second = n + 1 == options.nodes
                                             ? options.flops_per_second / options.slow_last
                                             : options.flops_per_second,
                     .jitter = 0.3,
                     .seed = options.seed + n},
                    options.operations_of ? options.operations_of(n * options.devices_of_node + d)
                                          : *operations_)));
                if (n < options.nodes)
                    devices_.push_back({node.node(), name, device_name});
            }
            if (options.last_agent && n + 1 == options.nodes) {
                options.last_agent(node);
            } else {
                node.spawn_as<node_agent>(well_known::agent, "agent",
                                          node_agent_options{training_roles(), devices});
                node.spawn_as<layer_profiler>(well_known::profiler, "profiler", devices);
            }
            nodes_.push_back(&node);
        }
        connect_all();
        sim_.network().set_faults(options.faults); // joining under faults is the cluster's own test
    }

    // Trains to the end; the weights are in the checkpoint.
    void train(const std::filesystem::path& folder, duration limit = std::chrono::minutes{30}) {
        start(folder);
        sim_.run_until([&] { return observer_.report.has_value(); }, limit);
    }

    // `resume`: from the latest checkpoint of the folder.
    void start(const std::filesystem::path& folder, bool resume = false) {
        trainer_options options{.app = app_};
        options.run = run_number;
        options.devices = devices_;
        options.data = data_;
        options.io = worker_;
        if (!folder.empty())
            options.store =
                std::make_shared<checkpoint_store>(checkpoint_store::open({folder, 1}).value());
        if (resume)
            options.resume = std::make_shared<const loaded_checkpoint>(
                load_checkpoint(list_checkpoints(folder).value().back()).value());
        options.listener = &observer_;
        trainer_ = run_->spawn_of_run<trainer>(run_number, "trainer", std::move(options));
    }

    // What the sequential program makes of the same app, stage by stage.
    // `drained`: after so many minibatches the pipeline ran empty besides the ends of epochs; 0: never. `share`: of this
    // replica on its own.
    sequential_result sequential(const std::vector<std::size_t>& layers, bool delayed,
                                 std::uint32_t microbatches, std::uint64_t drained = 0,
                                 replica_place share = {}) {
        compute_context context{*operations_, pool_};
        sequential_trainer program{context, app_.app(), data_->train,
                                   layers,  delayed,    microbatches};
        if (drained > 0)
            program.drain_after(drained);
        program.take_share(share);
        return program.run();
    }

    // By a program that `prepare` has told more.
    sequential_result sequential(const std::vector<std::size_t>& layers, bool delayed,
                                 std::uint32_t microbatches,
                                 const std::function<void(sequential_trainer&)>& prepare) {
        compute_context context{*operations_, pool_};
        sequential_trainer program{context, app_.app(), data_->train,
                                   layers,  delayed,    microbatches};
        prepare(program);
        return program.run();
    }

    // Of stages with so many replicas each.
    sequential_result sequential(const std::vector<std::size_t>& layers,
                                 const std::vector<std::uint32_t>& replicas) {
        compute_context context{*operations_, pool_};
        sequential_trainer program{context, app_.app(), data_->train, layers, true, 1};
        program.replicate(replicas, warm_ups(replicas));
        return program.run();
    }

    // The plan that its trainer makes, where nothing is measured for it.
    plan planned() const { return make_plan({app_.app(), devices_, {}}).value(); }

    simulator& sim() noexcept { return sim_; }
    node_runtime& node(std::size_t n) noexcept { return *nodes_[n]; }
    std::vector<node_runtime*> all_nodes() const { // that of the trainer last
        std::vector<node_runtime*> all = nodes_;
        all.push_back(run_);
        return all;
    }
    node_runtime& run_node() noexcept { return *run_; }
    actor_address trainer_address() const noexcept { return trainer_; }
    const recorded_run& observer() const noexcept { return observer_; }

  private:
    static constexpr std::uint64_t run_number = 77;
    static std::shared_ptr<device> shared(sim_device& d) { return {std::shared_ptr<void>{}, &d}; }

    void connect_all() {
        const std::vector<node_runtime*> all = all_nodes();
        for (std::size_t i = 0; i < all.size(); ++i)
            for (std::size_t j = i + 1; j < all.size(); ++j)
                all[i]->connect("sim:" + all[j]->options().name);
        sim_.run_until(
            [&] {
                return std::ranges::all_of(
                    all, [&](node_runtime* n) { return n->peers().size() + 1 == all.size(); });
            },
            std::chrono::minutes{5});
    }

    memory_pool pool_{1ull << 30};
    std::unique_ptr<operations> operations_ = make_cpu_operations(pool_);
    training_app app_;
    recorded_run observer_;
    std::shared_ptr<const data_sets> data_;
    simulator sim_;
    node_runtime* run_ = nullptr;
    std::vector<node_runtime*> nodes_;
    std::vector<plan_device> devices_;
    std::shared_ptr<device> worker_;
    actor_address trainer_;
};

// The trace of an epoch through eight nodes, six of which carry a stage, under the storm.
inline std::uint64_t stormy_trace_hash(std::uint64_t seed) {
    pipeline_sim run{{.seed = seed,
                      .faults = storm,
                      .nodes = 8,
                      .app = pipeline_app("pipedream", {1, 1, 1, 1, 1, 1}, 1)}};
    run.train({});
    TROUPE_CHECK(run.observer().report && !run.observer().report->failure, "the run ends well");
    return run.sim().trace_hash();
}

} // namespace troupe::test

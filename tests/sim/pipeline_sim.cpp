#include "tests/sim/pipeline_sim.hpp"

#include <algorithm>
#include <utility>

#include "actors/agent/node_agent.hpp"
#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/data/samples/dataset.hpp"
#include "actors/pipeline/layer_profiler.hpp"
#include "actors/pipeline/shape/replicated_stages.hpp"
#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/training_app.hpp"
#include "actors/training/roles/training_roles.hpp"
#include "actors/training/trainer.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "tests/support/all_messages.hpp"

namespace troupe::test {

namespace {

constexpr std::uint64_t run_number = 77;

std::shared_ptr<device> shared(sim_device& d) {
    return {std::shared_ptr<void>{}, &d};
}

std::shared_ptr<const data_sets> data_of(proto::App::Reader app) {
    return std::make_shared<const data_sets>(
        load_data(app.getData(), input_form(app.getModel()).value().shape, app.getTrain().getSeed())
            .value());
}

} // namespace

pipeline_sim::pipeline_sim(const pipeline_sim_options& options)
    : operations_{make_cpu_operations(pool_)},
      app_{std::make_unique<const training_app>(parse_training(options.app, "app.yaml").value())},
      data_{data_of(app_->app())}, sim_{{.seed = options.seed, .messages = all_messages()}} {
    run_ = &sim_.add_node("run", peer_role::client);
    worker_ =
        shared(sim_.add_device(*run_, {.name = "worker", .seed = options.seed}, *operations_));
    for (std::size_t n = 0; n < options.nodes + options.spare_nodes; ++n)
        add_node(options, n);
    connect_all();
    sim_.network().set_faults(options.faults); // joining under faults is the cluster's own test
}

pipeline_sim::~pipeline_sim() = default;

void pipeline_sim::add_node(const pipeline_sim_options& options, std::size_t n) {
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

void pipeline_sim::train(const std::filesystem::path& folder, duration limit) {
    start(folder);
    run_to_the_end(limit);
}

void pipeline_sim::start(const std::filesystem::path& folder, bool resume) {
    trainer_options options{.app = *app_};
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

void pipeline_sim::run_to_the_end(duration limit) {
    sim_.run_until([&] { return observer_.report.has_value(); }, limit);
}

std::vector<weights_ptr> pipeline_sim::sequential(sequential_settings settings) {
    settings.first_forwards = warm_ups(settings.replicas);
    compute_context context{*operations_, pool_};
    return train_sequentially(context, *app_, data_->train, settings);
}

plan pipeline_sim::planned() const {
    return make_plan({app_->app(), devices_, {}}).value();
}

std::vector<node_runtime*> pipeline_sim::all_nodes() const {
    std::vector<node_runtime*> all = nodes_;
    all.push_back(run_);
    return all;
}

void pipeline_sim::connect_all() {
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

std::uint64_t stormy_trace_hash(std::uint64_t seed) {
    pipeline_sim run{{.seed = seed,
                      .faults = storm,
                      .nodes = 8,
                      .app = pipeline_app("pipedream", {1, 1, 1, 1, 1, 1}, 1)}};
    run.train({});
    TROUPE_CHECK(run.observer().report && !run.observer().report->failure, "the run ends well");
    return run.sim().trace_hash();
}

} // namespace troupe::test

// A whole training run in the simulator: a run node with trainer and data source, and nodes with one device each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/run/plan_device.hpp"
#include "actors/runtime/simulator.hpp"
#include "kernels/tensor/memory.hpp"
#include "tests/support/pipeline_app.hpp"
#include "tests/support/recorded_run.hpp"
#include "tests/support/sequential.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe {
class operations;
class training_app;
struct data_sets;
struct plan;
} // namespace troupe

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
    explicit pipeline_sim(const pipeline_sim_options& options);
    ~pipeline_sim();
    pipeline_sim(const pipeline_sim&) = delete;
    pipeline_sim& operator=(const pipeline_sim&) = delete;

    // Trains to the end; the weights are in the checkpoint.
    void train(const std::filesystem::path& folder, duration limit = std::chrono::minutes{30});

    // `resume`: from the latest checkpoint of the folder.
    void start(const std::filesystem::path& folder, bool resume = false);
    void run_to_the_end(duration limit = std::chrono::minutes{5});

    // What the sequential program makes of the same app, stage by stage; where stages have replicas, with as many forward
    // passes first as the schedule says.
    std::vector<weights_ptr> sequential(sequential_settings settings);

    // The plan that its trainer makes, where nothing is measured for it.
    plan planned() const;

    const training_app& app() const noexcept { return *app_; }
    simulator& sim() noexcept { return sim_; }
    node_runtime& node(std::size_t n) noexcept { return *nodes_[n]; }
    std::vector<node_runtime*> all_nodes() const; // that of the trainer last
    node_runtime& run_node() noexcept { return *run_; }
    actor_address trainer_address() const noexcept { return trainer_; }
    const recorded_run& observer() const noexcept { return observer_; }

  private:
    void add_node(const pipeline_sim_options& options, std::size_t n);
    void connect_all();

    memory_pool pool_{1ull << 30};
    const std::unique_ptr<operations> operations_;
    const std::unique_ptr<const training_app> app_;
    recorded_run observer_;
    const std::shared_ptr<const data_sets> data_;
    simulator sim_;
    node_runtime* run_ = nullptr;
    std::vector<node_runtime*> nodes_;
    std::vector<plan_device> devices_;
    std::shared_ptr<device> worker_;
    actor_address trainer_;
};

// The trace of an epoch through eight nodes, six of which carry a stage, under the storm.
std::uint64_t stormy_trace_hash(std::uint64_t seed);

} // namespace troupe::test

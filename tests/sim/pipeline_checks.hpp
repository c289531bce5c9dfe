// Runs that are compared with the sequential program, bit by bit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/sim/pipeline_sim.hpp"

namespace troupe::test {

// Numbers of layers of stages that together have six.
const std::vector<std::vector<std::size_t>>& cuts();

inline constexpr sim_faults calm{.delay_min = std::chrono::microseconds{20},
                                 .delay_max = std::chrono::microseconds{20}};

// That a run is over and has not failed: its report.
const run_report& good_report(const pipeline_sim& run);
// That a run is over and has failed: why.
const error& failure_of(const pipeline_sim& run);

// The devices that so many stages need by this schedule; 0: it puts several on each, and they do not fill them.
std::size_t devices_of(const std::string& schedule, std::size_t stages);

// The sequential program of a schedule of pipeline_app: only the versions that a table's forward passes use, and the order
// in which its backward passes end.
sequential_settings as_scheduled(const std::string& schedule,
                                 const std::vector<std::size_t>& layers);

// That the run has saved what the sequential program makes.
void check_saved(pipeline_sim& run, const std::filesystem::path& folder,
                 const sequential_settings& as);

// That a run of this app, with stages of so many layers, is bit-equal to the sequential program.
void check_app(const std::string& text, const std::vector<std::size_t>& layers,
               const sim_faults& faults, std::uint64_t seed);

// `more`: further keys of train.
void check_run(const std::string& schedule, const std::vector<std::size_t>& layers,
               const sim_faults& faults, std::uint64_t seed,
               const std::string& optimizer = default_optimizer, const std::string& more = {});

// Three epochs under pipedream, stopped in the second, which has minibatches `first` to `end` of the run.
void stop_and_resume(const std::vector<std::size_t>& layers, const std::string& more,
                     std::uint64_t first, std::uint64_t end);

} // namespace troupe::test

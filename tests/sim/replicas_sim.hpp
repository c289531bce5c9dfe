// Runs of replicas in the simulator: their app, what they report and what they save.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/pipeline_checks.hpp"

namespace troupe::test {

struct replicas_app {
    std::string schedule = "gpipe";
    std::vector<std::size_t> layers = {6}; // of the stages
    std::uint32_t replicas = 2;
    std::string sync = "all_reduce";
    std::uint32_t samples = 80;
    std::uint32_t batch = 8;
    std::uint32_t microbatches = 1;
    std::string optimizer = default_optimizer;
    std::string more = {}; // further keys of train
    std::string norm = {}; // a layer behind the first
};

void replace(std::string& text, const std::string& from, const std::string& to);

std::string text_of(const replicas_app& a);

using saved_tensors = std::map<std::string, std::vector<float>>;

saved_tensors saved_in(const std::filesystem::path& folder);

struct trained {
    run_report report;
    saved_tensors weights;
};

trained train(const replicas_app& a, const sim_faults& faults = calm, std::uint64_t seed = 1);

// That a run which is stopped in its first epoch and resumed saves what one does that never was.
void check_stop_and_resume(const replicas_app& a);

double farthest(const saved_tensors& a, const saved_tensors& b);

// The names of all of all-reduce.
const std::vector<std::string>& algorithms();

std::string all_reduce_by(const std::string& algorithm);

} // namespace troupe::test

// Nodes that are lost while a run goes on in the simulator, and others that are announced to its trainer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/sim/replicas_sim.hpp"

namespace troupe::test {

// Spawns what stands where the cluster's actor would, and passes on to the trainer what a test announces.
void spawn_announcer(pipeline_sim& run);
void announce(pipeline_sim& run, std::size_t node, const char* device = "sim:0");

// There are no heartbeats here by which the death would be noticed if its own news is lost.
void kill(pipeline_sim& run, std::size_t node);

void run_until_over(pipeline_sim& run);

// That a run of three replicas goes on without one whose node is killed at some time in its two epochs, their evaluations
// among them. `afterwards`: when it is over.
void check_loss(std::uint64_t seed, bool is_pipeline, const std::string& sync,
                const std::function<void(pipeline_sim&)>& afterwards);

} // namespace troupe::test

// The `evaluate` command of a training job: runs the test samples through saved weights.
#pragma once

#include "actors/training/plan/training_app.hpp"
#include "tools/troupe/commands.hpp"

namespace troupe::cli {

// Returns the exit code.
int evaluate_network(const training_app& app, const evaluate_options& options);

} // namespace troupe::cli

// evaluate, of a training job: the test samples through saved weights.
#pragma once

#include "actors/training/plan/training_app.hpp"
#include "tools/troupe/commands.hpp"

namespace troupe::cli {

// The exit code.
int evaluate_network(const training_app& app, const evaluate_options& options);

} // namespace troupe::cli

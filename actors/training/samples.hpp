// The samples of a training job.
#pragma once

#include <memory>

#include "actors/data/samples/dataset.hpp"
#include "actors/training/plan/training_app.hpp"

namespace troupe {

// The app's samples, with labels that fit its model. Blocks on files. Errors and notes name the place in the app file where
// the file in question is named.
result<std::shared_ptr<const data_sets>> load_samples(const training_app& app);

} // namespace troupe

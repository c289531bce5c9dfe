// The learning rate of every update of a run: a pure function of its place there.
#pragma once

#include <cstdint>
#include <functional>

#include "schemas/app.capnp.h"

namespace troupe {

// The position of an update. Both numbers count from 0 over the run.
struct run_position {
    std::uint32_t epoch = 0;
    std::uint64_t minibatch = 0;
};

// Const, and shared freely by threads.
using learning_rates = std::function<float(const run_position&)>;

// The optimizer's rate, times what the schedule leaves of it there, times (minibatch + 1) / warmup_minibatches while it
// warms up, for a run of `minibatches`. Null for a schedule that this build does not know.
learning_rates make_learning_rates(proto::Train::Reader train, std::uint64_t minibatches);

// So many times these rates, in all places.
learning_rates times(learning_rates rates, float factor);

} // namespace troupe

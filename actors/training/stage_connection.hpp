// The messages by which a trainer tells the stages and the data source of each other, once all actors of the run are there.
// Pure.
#pragma once

#include "actors/data/samples/data_source.hpp"
#include "actors/training/plan/plan.hpp"
#include "actors/training/run_course.hpp"
#include "actors/training/training_cast.hpp"
#include "schemas/training.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

struct placed_run {
    const plan& planned;
    const training_cast& cast;
    const run_course& course;
};

// The options of the data source. The caller adds the data, the io device and itself.
data_source_options source_options(const placed_run& run, proto::App::Reader app);

// The neighbours and companions of the stage of this placement. The caller adds its weights, or their version.
frame_builder<proto::ConnectStage> connection_of(const placed_run& run, std::size_t placement,
                                                 actor_address source);

// The stage starts from these weights.
void write_restored(frame_builder<proto::ConnectStage>& to, const weights& from);

} // namespace troupe

// The sentences of a trainer on losses, failures and stops. Pure.
#pragma once

#include <optional>
#include <string>

#include "actors/training/plan/plan.hpp"
#include "actors/training/run_course.hpp"
#include "actors/training/training_cast.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// The standing of a run: its course and its checkpoint.
struct run_standing {
    const run_course& course;
    const std::optional<std::string>& checkpoint; // folder of the last one saved or resumed from
};

// The end after a stop: the epoch was cut short and its checkpoint written, or the run ended at once, before training or
// (`again`) by a second stop.
std::string stopped_in_order(const run_standing& run);
std::string stopped_at_once(const run_standing& run, bool again);

// "; the last checkpoint is ...": how to go on after a loss.
std::string how_to_go_on(const run_standing& run);
// The run ends, as `what` is lost. `why` names the node or actor.
error ended_by_loss(const run_standing& run, const error& why, const std::string& what);
// The loss that goes with an actor, a stage or the agent of a node: its stages, with the shards that no run goes on without.
// Empty if it has none.
std::string carried_by(actor_address who, const plan& p, const training_cast& cast);

// The run goes on without a replica; `why` says what was lost, `minibatches` how many are not trained on.
std::string note_of_loss(const plan& p, const run_course& course, const std::string& why,
                         std::uint64_t minibatches);
// The reason that actors of this replica are given for their end.
error without_replica(std::uint32_t replica);

// Ways out where the memory of a device does not suffice.
struct memory_ways {
    bool more_stages = false;
    std::string elsewhere; // a part of memory_advice
};
// `why`, an error of computing, with advice: exhausted refers to memory, numeric to the loss or the weights, lost to what a
// stage needs beside its neighbours.
error advised(const run_standing& run, const error& why, const memory_ways& ways);

} // namespace troupe

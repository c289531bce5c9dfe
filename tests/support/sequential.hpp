// Training as one loop in one thread, by the definition of the schedules: what pipelines are compared with, bit by bit.
//
// pipedream: the gradient of minibatch b is that of the loss with stage s at version max(0, b - (S-1-s)), counted from the
// start of the epoch, applied to the latest version. gpipe: gradients of the microbatches, summed last to first, applied
// once. What crosses between stages is rounded as the app says. Knows no actor, message or schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/pipeline/shape/epoch_shape.hpp"
#include "kernels/graph/weights.hpp"

namespace troupe {
class number_form;
class training_app;
struct compute_context;
struct dataset;
} // namespace troupe

namespace troupe::test {

struct sequential_settings {
    std::vector<std::size_t> layers; // of the stages
    bool delayed = false;            // as pipedream; stages clip by norms of their own
    std::uint32_t microbatches = 1;
    // Unless it is empty, by stage and microbatch how many updates of the epoch the weights are behind, in place of that.
    std::vector<std::vector<std::uint32_t>> behind = {};
    // Unless it is empty, by stage the microbatches in the order in which their gradients are summed; else last to first.
    std::vector<std::vector<std::uint32_t>> summed = {};
    bool stashes =
        true; // gradients are of the weights of the forward pass; else of the latest at the stage
    // The pipeline was drained after so many minibatches of the run, as by a stop and a resume, and filled again; 0: never.
    std::uint64_t drained_after = 0;
    // Only minibatches `replica`, `replica` + `replicas`, ... of each epoch: what this replica does on its own.
    replica_place share = {};
    // Unless it is empty, stage s has replicas[s] replicas, which run first_forwards[s] forward passes before their first
    // backward pass: minibatch b is computed at version max(0, b / replicas - first_forwards), and an update is by the mean
    // of `replicas` gradients, those that a last round lacks being zeros, at `replicas` times the rate where the app counts
    // it per sample.
    std::vector<std::uint32_t> replicas = {};
    std::vector<std::uint32_t> first_forwards = {};
    // Minibatches are computed with weights rounded so, null: as they are; updates are of the weights as they are.
    std::shared_ptr<const number_form> pulls = {};
};

// The weights of the stages after the last minibatch.
std::vector<weights_ptr> train_sequentially(compute_context& context, const training_app& app,
                                            const dataset& data,
                                            const sequential_settings& settings);

} // namespace troupe::test

// Division of a run into epochs of minibatches: the one place that computes the samples of a minibatch, and so the
// minibatches of an epoch. Pure arithmetic, shared by plan, trainer, data source and readers of checkpoints.
#pragma once

#include <cstdint>

#include "schemas/app.capnp.h"

namespace troupe {

// Samples per minibatch, by epoch. Growth in place of a falling learning rate: Smith et al. 2018, arXiv 1711.00489.
struct batch_sizes {
    std::uint32_t first = 1;
    std::uint32_t every_epochs = 0; // epochs between two steps of growth; 0: no growth
    std::uint32_t factor = 2;
    std::uint32_t maximum = 1;

    static batch_sizes of(proto::Train::Reader train);

    std::uint32_t at(std::uint32_t epoch) const noexcept;
};

// Samples of a minibatch in the epoch with the largest minibatches.
std::uint32_t largest_batch(proto::Train::Reader train);

// Epochs count from 0. Values for epochs beyond the last are those of a longer run.
struct run_shape {
    std::uint64_t samples = 1; // per epoch
    std::uint32_t epochs = 1;
    batch_sizes batch;
    // Minibatches that count as one, as those of replicas do which take turns; an epoch's last may have fewer.
    std::uint32_t together = 1;

    static run_shape of(proto::Train::Reader train, std::uint64_t samples);

    std::uint64_t minibatches_of(std::uint32_t epoch) const noexcept;
    std::uint64_t minibatches_before(std::uint32_t epoch) const noexcept; // in all earlier epochs
    std::uint64_t minibatches() const noexcept { return minibatches_before(epochs); }
    // The epoch that has this minibatch of the run; `epochs` for those behind its last.
    std::uint32_t epoch_of(std::uint64_t minibatch) const noexcept;
    // The same run, with so many times as many minibatches together.
    run_shape in_rounds_of(std::uint32_t minibatches) const noexcept;
};

} // namespace troupe

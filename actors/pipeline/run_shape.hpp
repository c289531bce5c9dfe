// How a run falls into epochs of minibatches: the one place that knows how many samples a minibatch has, and so how many
// minibatches an epoch. Pure arithmetic, shared by plan, trainer, data source and whoever reads a checkpoint.
#pragma once

#include <cstdint>

#include "schemas/app.capnp.h"

namespace troupe {

// Samples per minibatch. That they grow in place of a falling learning rate: Smith et al. 2018, arXiv 1711.00489.
struct batch_sizes {
    std::uint32_t first = 1;
    std::uint32_t every_epochs = 0; // between two steps of growth; 0: there are none
    std::uint32_t factor = 2;
    std::uint32_t maximum = 1;

    static batch_sizes of(proto::Train::Reader train);

    std::uint32_t at(std::uint32_t epoch) const noexcept;
};

// Samples of a replica's minibatch in the epoch that has the most.
std::uint32_t largest_batch(proto::Train::Reader train);

// Epochs count from 0. What is said of epochs beyond the last is what would be if there were more.
struct run_shape {
    std::uint64_t samples = 1; // of an epoch
    std::uint32_t epochs = 1;
    batch_sizes batch;

    static run_shape of(proto::Train::Reader train, std::uint64_t samples);

    std::uint64_t minibatches_of(std::uint32_t epoch) const noexcept;
    std::uint64_t minibatches_before(std::uint32_t epoch) const noexcept; // of all epochs before
    std::uint64_t minibatches() const noexcept { return minibatches_before(epochs); }
};

} // namespace troupe

// Division of an epoch's samples into minibatches, and of these into microbatches. Pure arithmetic, shared by the data
// source, every stage and the sequential programs that tests compare with.
#pragma once

#include <cstdint>

#include "schemas/base/check.hpp"

namespace troupe {

struct sample_range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// A value. Minibatches are numbered from 0 within the epoch here.
struct epoch_shape {
    std::uint64_t minibatches = 0;
    std::uint32_t samples_per_minibatch = 1;
    std::uint32_t samples_in_last = 1; // in the last minibatch of a whole epoch
    // Index of that minibatch; not below `minibatches` in an epoch that was cut short.
    std::uint64_t last = 0;
    std::uint32_t microbatches_max = 1;

    // An epoch of `samples` samples in minibatches of `batch`; the last one has the remainder.
    static constexpr epoch_shape of(std::uint64_t samples, std::uint32_t batch,
                                    std::uint32_t microbatches) {
        TROUPE_CHECK(samples > 0 && batch > 0 && microbatches > 0,
                     "an epoch has samples, batches and microbatches");
        const std::uint64_t minibatches = (samples + batch - 1) / batch;
        return {minibatches, batch, static_cast<std::uint32_t>(samples - (minibatches - 1) * batch),
                minibatches - 1, microbatches};
    }

    constexpr std::uint32_t samples_of(std::uint64_t minibatch) const noexcept {
        return minibatch == last ? samples_in_last : samples_per_minibatch;
    }

    // A minibatch with fewer samples than microbatches has one microbatch per sample.
    constexpr std::uint32_t microbatches_of(std::uint64_t minibatch) const noexcept {
        const std::uint32_t samples = samples_of(minibatch);
        return samples < microbatches_max ? samples : microbatches_max;
    }

    // The samples of a microbatch, relative to its minibatch. Sizes differ by at most one; larger microbatches come first.
    constexpr sample_range rows_of(std::uint64_t minibatch,
                                   std::uint32_t microbatch) const noexcept {
        const std::uint32_t count = microbatches_of(minibatch);
        const std::uint32_t size = samples_of(minibatch) / count;
        const std::uint32_t larger = samples_of(minibatch) % count;
        const std::uint32_t first = microbatch * size + (microbatch < larger ? microbatch : larger);
        return {first, size + (microbatch < larger ? 1 : 0)};
    }
};

// A replica's number among all replicas. Where they take turns, minibatch m of an epoch belongs to replica m mod replicas.
struct replica_place {
    std::uint32_t replica = 0;
    std::uint32_t replicas = 1;
};

// A replica's share of an epoch, with its minibatches renumbered from 0. It may be empty.
constexpr epoch_shape share_of(epoch_shape epoch, replica_place at) noexcept {
    constexpr auto never = ~std::uint64_t{0};
    epoch.minibatches = (epoch.minibatches + at.replicas - 1 - at.replica) / at.replicas;
    epoch.last = epoch.last % at.replicas == at.replica ? epoch.last / at.replicas : never;
    return epoch;
}

// The updates of an epoch, and the samples of one of them, where every update takes one minibatch of each replica.
constexpr std::uint64_t rounds_of(const epoch_shape& epoch, std::uint32_t replicas) noexcept {
    return (epoch.minibatches + replicas - 1) / replicas;
}
constexpr std::uint64_t samples_of_round(const epoch_shape& epoch, std::uint32_t replicas,
                                         std::uint64_t round) noexcept {
    std::uint64_t samples = 0;
    for (std::uint64_t m = round * replicas; m < (round + 1) * replicas && m <= epoch.last; ++m)
        samples += epoch.samples_of(m);
    return samples;
}

} // namespace troupe

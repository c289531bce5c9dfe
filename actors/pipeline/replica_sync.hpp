// How the replicas of a stage agree on their weights, as the app file says. A pure value.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/app.capnp.h"

namespace troupe {

struct replica_sync {
    bool sums_gradients = false; // before every update, which is one of all replicas
    std::uint32_t weights_every =
        0; // updates of each replica between two means of the weights; 0: never
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO;

    // Nothing for a way that this build does not know. One replica agrees with itself.
    static std::optional<replica_sync> of(proto::Sync::Reader description, std::uint32_t replicas);

    // Minibatches that an update of one of so many replicas is made of.
    std::uint32_t minibatches_per_update(std::uint32_t replicas) const noexcept {
        return sums_gradients ? replicas : 1;
    }
    // Whether the weights are averaged after so many updates of an epoch of `all`.
    bool averages_after(std::uint64_t updates, std::uint64_t all) const noexcept {
        return weights_every > 0 && updates > 0 && (updates % weights_every == 0 || updates == all);
    }
};

} // namespace troupe

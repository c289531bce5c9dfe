// How the replicas of a stage agree on their weights, as the app file says. A pure value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "actors/params/consistency.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

struct replica_sync {
    bool sums_gradients = false; // before every update, which is one of all replicas
    std::uint32_t weights_every =
        0; // updates of each replica between two means of the weights; 0: never
    std::optional<consistency> server; // gradients go to a parameter server, weights come from it
    std::uint32_t shards = 0;          // of the server, at most; 0: one per replica
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO;

    // Nothing for a way that this build does not know. One replica agrees with itself.
    static std::optional<replica_sync> of(proto::Sync::Reader description, std::uint32_t replicas);

    // Whether replicas take whichever minibatch comes next; else each its own in turns.
    bool deals_minibatches() const noexcept { return server && !server->is_synchronous(); }
    // Minibatches that an update of one of so many replicas is made of.
    std::uint32_t minibatches_per_update(std::uint32_t replicas) const noexcept {
        return sums_gradients || (server && server->is_synchronous()) ? replicas : 1;
    }
    // Of the server of a stage with so many parameter tensors; 0 where none is needed.
    std::size_t shards_of(std::size_t tensors, std::uint32_t replicas) const noexcept {
        return server ? std::min<std::size_t>(tensors, shards > 0 ? shards : replicas) : 0;
    }
    // Whether the weights are averaged after so many updates of an epoch of `all`.
    bool averages_after(std::uint64_t updates, std::uint64_t all) const noexcept {
        return weights_every > 0 && updates > 0 && (updates % weights_every == 0 || updates == all);
    }
};

} // namespace troupe

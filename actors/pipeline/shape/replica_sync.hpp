// The way in which the replicas of a stage reach consensus on their weights, from the app file. A pure value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "actors/params/shard_update.hpp"
#include "actors/peers/weight_exchange.hpp"
#include "kernels/codec/codec.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

struct replica_sync {
    bool sums_gradients = false; // replicas sum gradients for every update, and make it together
    std::optional<weight_exchange> exchange; // replicas update on their own and exchange weights
    std::optional<consistency> server; // gradients go to a parameter server, weights come from it
    std::uint32_t shards = 0;          // most shards of the server; 0: one per replica
    delay_compensation compensation;   // the server's
    aggregation how;                   // combines the gradients of one update at the server
    std::uint32_t push_every = 1;  // minibatches whose gradients a replica sums before each push
    std::uint32_t fetch_every = 1; // minibatches between two pulls
    bool node_servers = false;     // the replicas of a node are one worker of the server
    number_form_ptr pulls;         // form of the weights that the server sends; null: float32
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO;
    codec_ptr codec; // compresses gradients sent to other replicas or to a server; null: none does
    // Gradients of linear layers are sent as their factors where these are smaller (sufficient_factors.hpp).
    bool sends_factors = false;

    // nullopt for a description that this build does not know. A single replica synchronises with nobody.
    static std::optional<replica_sync> of(proto::Sync::Reader description, std::uint32_t replicas);

    // True if replicas exchange weights by taking their mean, which their reducers compute as a sum.
    bool averages_weights() const noexcept {
        return exchange && std::holds_alternative<mean_rule>(exchange->method);
    }
    // True if a replica of a parameter server steps by itself between two pulls, or pushes sums of gradients.
    bool accrues() const noexcept { return push_every > 1 || fetch_every > 1; }
    // True if the other replicas go on when one is lost, and another may take its place.
    bool bears_loss() const noexcept { return assigns_dynamically(); }
    // True with dynamic assignment of minibatches: a replica gets the next one when it is free. Else replicas take turns.
    bool assigns_dynamically() const noexcept {
        return (server && !server->is_synchronous()) || (exchange && exchange->assigns_dynamically);
    }
    // Replicas that take turns, whose minibatches of a round have one learning rate; 1 with dynamic assignment.
    std::uint32_t in_turn(std::uint32_t replicas) const noexcept {
        return assigns_dynamically() ? 1 : replicas;
    }
    // Minibatches of one update at a stage with `replicas` replicas.
    std::uint32_t minibatches_per_update(std::uint32_t replicas) const noexcept {
        return sums_gradients || (server && server->is_synchronous()) ? replicas : 1;
    }
    // True if a replica's gradient is its share of the mean over all samples of an update; else it is the mean over its own.
    bool shares_mean() const noexcept { return how.by == aggregation::rule::mean; }
    // The forms in which gradients are pushed to the server, by parameter: of these shapes and factor_rows (parameter_info),
    // for minibatches of up to `samples_max` samples.
    payload_forms pushed_forms(std::span<const tensor_shape> shapes,
                               std::span<const std::size_t> factor_rows,
                               std::size_t samples_max) const;
    // The number of shards for a stage with `tensors` parameter tensors; 0 if it needs none.
    std::size_t shards_of(std::size_t tensors, std::uint32_t replicas) const noexcept {
        return server ? std::min<std::size_t>(tensors, shards > 0 ? shards : replicas) : 0;
    }
};

// The replicas of each stage, where the stages of a pipeline have replicas of their own; else empty.
std::vector<std::uint32_t> replicas_of_stages(proto::Topology::Reader topology);

// The replicas of the whole that take turns (replica_sync::in_turn).
std::uint32_t replicas_in_turn(proto::Topology::Reader topology);

// The factor on the learning rate of a stage with `replicas` replicas of its own. An update goes by the mean of their
// gradients, one update for R minibatches: at the same rate a sample moves such a stage 1/R as far as a stage without
// replicas, at R times the rate equally far. Source: Harlap et al., PipeDream, arXiv 1806.03377.
constexpr float rate_factor(proto::StageRate rate, std::uint32_t replicas) noexcept {
    return rate == proto::StageRate::PER_SAMPLE ? static_cast<float>(replicas) : 1;
}

} // namespace troupe

// How the replicas of a stage agree on their weights, as the app file says. A pure value.
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
    bool sums_gradients = false;             // before every update, which is one of all replicas
    std::optional<weight_exchange> exchange; // they update on their own
    std::optional<consistency> server; // gradients go to a parameter server, weights come from it
    std::uint32_t shards = 0;          // of the server, at most; 0: one per replica
    delay_compensation compensation;   // the server's
    aggregation how;                   // what is made of the gradients of one update
    std::uint32_t push_every =
        1; // minibatches whose gradients a replica sums before it pushes them
    std::uint32_t fetch_every = 1; // minibatches between two pulls
    bool node_servers = false;     // the replicas of a node are one worker of the server
    number_form_ptr pulls;         // how the server's weights are sent; null: as they are
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO;
    codec_ptr codec; // of gradients on their way to each other or to a server; null: as they are
    // Gradients of linear layers go on their way as their factors where these are less (sufficient_factors.hpp).
    bool sends_factors = false;

    // Nothing for a way that this build does not know. One replica agrees with itself.
    static std::optional<replica_sync> of(proto::Sync::Reader description, std::uint32_t replicas);

    // Whether they exchange weights by taking their mean, which is a sum: by their reducers.
    bool averages_weights() const noexcept {
        return exchange && std::holds_alternative<mean_rule>(exchange->method);
    }
    // Whether a replica steps by itself between two pulls, or pushes sums of gradients.
    bool accrues() const noexcept { return push_every > 1 || fetch_every > 1; }
    // Whether the others go on when one is lost, and another may take its place.
    bool bears_loss() const noexcept { return deals_minibatches(); }
    // Whether replicas take whichever minibatch comes next; else each its own in turns.
    bool deals_minibatches() const noexcept {
        return (server && !server->is_synchronous()) || (exchange && exchange->deals);
    }
    // Minibatches that an update of one of so many replicas is made of.
    std::uint32_t minibatches_per_update(std::uint32_t replicas) const noexcept {
        return sums_gradients || (server && server->is_synchronous()) ? replicas : 1;
    }
    // Whether each replica's gradient is its share of a mean over all samples of an update; else the mean over its own.
    bool shares_mean() const noexcept { return how.by == aggregation::rule::mean; }
    // What is pushed to the server of gradients of these shapes, and of these factor_rows (parameter_info), of a minibatch
    // of up to so many samples.
    payload_forms pushed_forms(std::span<const tensor_shape> shapes,
                               std::span<const std::size_t> factor_rows,
                               std::size_t samples_max) const;
    // Of the server of a stage with so many parameter tensors; 0 where none is needed.
    std::size_t shards_of(std::size_t tensors, std::uint32_t replicas) const noexcept {
        return server ? std::min<std::size_t>(tensors, shards > 0 ? shards : replicas) : 0;
    }
};

// By stage, where the stages of a pipeline have replicas of their own; else empty.
std::vector<std::uint32_t> replicas_of_stages(proto::Topology::Reader topology);

// What the learning rate of a stage with so many replicas of its own is multiplied by. An update is by the mean of their
// gradients, one for R minibatches: at the same rate a sample moves such a stage 1/R as far as one without replicas, at R
// times the rate as far. Source: Harlap et al., PipeDream, arXiv 1806.03377.
constexpr float rate_factor(proto::StageRate rate, std::uint32_t replicas) noexcept {
    return rate == proto::StageRate::PER_SAMPLE ? static_cast<float>(replicas) : 1;
}

} // namespace troupe

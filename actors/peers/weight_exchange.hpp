// Replicas that update on their own and now and then exchange weights: when a stage hands over its own, and what it does
// until others come back. A pure value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "actors/peers/admm_rule.hpp"
#include "actors/peers/elastic_rule.hpp"
#include "actors/peers/gossip_rule.hpp"
#include "kernels/optim/aggregation.hpp"
#include "schemas/topology.capnp.h"

namespace troupe {

// Local SGD: the mean of all replicas, which is an all-reduce.
struct mean_rule {};

// MALT: weights go along the edges of a graph.
struct malt_rule {
    proto::MaltGraph graph = proto::MaltGraph::HALTON;
    aggregation how;
};

// The same weights in memory.
struct hogwild_rule {};

struct weight_exchange {
    // When a stage has no more updates in an epoch: nothing, another exchange unless it has just made one, always another.
    enum class ending { nothing, exchange, last_exchange };

    std::uint32_t every = 1; // updates of a replica between two exchanges
    ending at_end = ending::nothing;
    bool overlaps = false; // the stage trains on, and adds what comes back
    bool waits =
        true; // for it, before its next update; where it overlaps before the one after that
    bool deals = false; // replicas take whichever minibatch comes next, not each its own in turns
    bool has_common = false; // what is evaluated and saved is not the replica's own
    std::variant<mean_rule, elastic_rule, gossip_rule, malt_rule, admm_rule, hogwild_rule> method;

    // Nothing for a way to agree that is none of these.
    // The seed of what is drawn by lot is left at 0.
    static std::optional<weight_exchange> of(proto::Sync::Reader description,
                                             std::uint32_t replicas);

    // Whether one is due after so many updates of an epoch.
    bool is_due_after(std::uint64_t updates) const noexcept {
        return updates > 0 && updates % every == 0;
    }
};

// For people, after "4 replicas: ": "each and a centre are drawn ..."
std::string describe(const weight_exchange& exchange);

// What the replicas of a stage send each other, whose weights have so many bytes: "Meet 12.3 kB of each per ..."
std::string traffic_of(const weight_exchange& exchange, const std::string& bytes);

// Its key in the app file.
const char* name_of(const weight_exchange& exchange) noexcept;

} // namespace troupe

// Exchange of weights between replicas that update on their own: when a stage hands over its weights, and what it does until
// weights come back. A pure value.
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

// Local SGD: the mean over all replicas, by an all-reduce.
struct mean_rule {};

// MALT: weights are sent along the edges of a graph.
struct malt_rule {
    proto::MaltGraph graph = proto::MaltGraph::HALTON;
    aggregation how;
};

// Hogwild: weights shared in memory.
struct hogwild_rule {};

struct weight_exchange {
    // The action of a stage that has no more updates in an epoch: nothing, another exchange unless it has just made one,
    // or always another exchange.
    enum class ending { nothing, exchange, last_exchange };

    std::uint32_t every = 1; // updates of a replica per exchange
    ending at_end = ending::nothing;
    // The stage trains on, and adds the returned difference.
    bool overlaps = false;
    // The stage waits for the returned weights before its next update; with `overlaps`, before the one after that.
    bool waits = true;
    // Dynamic assignment of minibatches: a replica takes whichever comes next. False: fixed assignment in turns.
    bool assigns_dynamically = false;
    // The weights evaluated and saved are not the replica's own.
    bool has_common = false;
    std::variant<mean_rule, elastic_rule, gossip_rule, malt_rule, admm_rule, hogwild_rule> method;

    // None if `description` describes none of these methods. Random seeds are left at 0.
    static std::optional<weight_exchange> of(proto::Sync::Reader description,
                                             std::uint32_t replicas);

    // True if an exchange is due after this number of updates of an epoch.
    bool is_due_after(std::uint64_t updates) const noexcept {
        return updates > 0 && updates % every == 0;
    }
};

// For people, after "4 replicas: ": "each and a centre are drawn ..."
std::string describe(const weight_exchange& exchange);

// The messages between replicas of a stage whose weights have this size, as text: "Meet 12.3 kB of each per ..."
std::string traffic_of(const weight_exchange& exchange, const std::string& bytes);

// The method's key in the app file.
const char* name_of(const weight_exchange& exchange) noexcept;

} // namespace troupe

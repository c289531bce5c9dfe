#include "actors/peers/weight_exchange.hpp"

#include <cstdio>

namespace troupe {

namespace {

using ending = weight_exchange::ending;

// An exchange in which no replica waits for another; the consensus is made from all replicas' weights.
weight_exchange without_waiting(std::uint32_t every) {
    return {.every = every,
            .at_end = ending::last_exchange,
            .assigns_dynamically = true,
            .has_common = true};
}

weight_exchange elastic(proto::ElasticAveraging::Reader description, std::uint32_t replicas) {
    const bool synchronous = description.getSynchronous();
    return {.every = description.getPeriod(),
            .overlaps = true,
            .waits = synchronous,
            .assigns_dynamically = !synchronous,
            .has_common = true,
            .method = elastic_rule{elastic_rate(description.getRate(), replicas), synchronous}};
}

std::optional<weight_exchange> malt(proto::Malt::Reader description) {
    const auto how = aggregation::of(description.getAggregation());
    if (!how || description.getGraph() > proto::MaltGraph::SERVER)
        return std::nullopt;
    auto exchange = without_waiting(description.getPeriod());
    exchange.method = malt_rule{description.getGraph(), *how};
    return exchange;
}

weight_exchange admm(proto::Admm::Reader description, std::uint32_t replicas) {
    auto exchange = without_waiting(1); // a step of the penalty after every update
    exchange.assigns_dynamically = description.getQuorum() < replicas && description.getDelay() > 1;
    exchange.method = admm_rule{description.getPenalty(), description.getPeriod(),
                                description.getQuorum(), description.getDelay()};
    return exchange;
}

// ---- for people -----------------------------------------------------------------------------------------------------

std::string number(float value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", static_cast<double>(value));
    return text;
}

std::string every_text(std::uint32_t updates) {
    return updates == 1 ? "every update" : "every " + std::to_string(updates) + " updates";
}

const char* word_of(proto::MaltGraph graph) {
    constexpr const char* words[] = {"all", "halton", "server"};
    return words[static_cast<std::size_t>(graph)];
}

struct method_text {
    std::string every;

    std::string operator()(const mean_rule&) const { return "the mean of their weights " + every; }
    std::string operator()(const elastic_rule& rule) const {
        return "they and a centre beside the first move towards each other by " +
               number(rule.rate) + " of the way " + every +
               (rule.synchronous ? ", all at once" : ", each by itself; nobody waits");
    }
    std::string operator()(const gossip_rule&) const {
        return "two at a time, drawn by lot, take the mean of their weights, each " + every +
               "; nobody waits";
    }
    std::string operator()(const malt_rule& rule) const {
        return "malt, graph " + std::string{word_of(rule.graph)} + ": each sends its weights " +
               every + " and takes in those that have arrived; nobody waits";
    }
    std::string operator()(const admm_rule& rule) const {
        return "admm: each minimises for " + std::to_string(rule.period) +
               " updates and reports; the consensus changes when " + std::to_string(rule.quorum) +
               " have and nobody is " + std::to_string(rule.delay) + " changes late";
    }
    std::string operator()(const hogwild_rule&) const {
        return "hogwild: they update the same weights in memory, without locks";
    }
};

struct method_traffic {
    std::string bytes;

    std::string operator()(const mean_rule&) const { return {}; }
    std::string operator()(const elastic_rule&) const {
        return "Meet " + bytes + " of each to the first per exchange; Met of the same size back";
    }
    std::string operator()(const gossip_rule&) const {
        return "Meet " + bytes + " of each to another per exchange; Met of the same size back";
    }
    std::string operator()(const malt_rule&) const {
        return "Scatter " + bytes + " along each edge per exchange";
    }
    std::string operator()(const admm_rule&) const {
        return "Report " + bytes + " of each to the first; Consensus of the same size back";
    }
    std::string operator()(const hogwild_rule&) const { return "nothing"; }
};

} // namespace

std::optional<weight_exchange> weight_exchange::of(proto::Sync::Reader description,
                                                   std::uint32_t replicas) {
    weight_exchange exchange;
    switch (description.which()) {
    case proto::Sync::LOCAL_SGD:
        return weight_exchange{.every = description.getLocalSgd().getPeriod(),
                               .at_end = ending::exchange};
    case proto::Sync::ELASTIC_AVERAGING:
        return elastic(description.getElasticAveraging(), replicas);
    case proto::Sync::GOSSIP:
        exchange = without_waiting(description.getGossip().getPeriod());
        exchange.method = gossip_rule{};
        return exchange;
    case proto::Sync::MALT:
        return malt(description.getMalt());
    case proto::Sync::ADMM:
        return admm(description.getAdmm(), replicas);
    case proto::Sync::HOGWILD:
        exchange = without_waiting(1);
        exchange.method = hogwild_rule{};
        return exchange;
    default:
        return std::nullopt;
    }
}

std::string describe(const weight_exchange& exchange) {
    return std::visit(method_text{every_text(exchange.every)}, exchange.method);
}

std::string traffic_of(const weight_exchange& exchange, const std::string& bytes) {
    return std::visit(method_traffic{bytes}, exchange.method);
}

const char* name_of(const weight_exchange& exchange) noexcept {
    constexpr const char* names[] = {"local_sgd", "elastic_averaging", "gossip", "malt", "admm",
                                     "hogwild"};
    return names[exchange.method.index()];
}

} // namespace troupe

// The part of all_reduce.hpp that lists no transfers: ranks and nodes, slices, costs and the choice of an algorithm.
#include <algorithm>
#include <map>
#include <numeric>

#include "actors/collective/all_reduce.hpp"

namespace troupe {

namespace {

std::size_t elements_in(index_range range, std::size_t segments, std::size_t elements) {
    std::size_t sum = 0;
    for (std::size_t s = range.first; s < range.first + range.count; ++s)
        sum += elements_of(s, segments, elements).count;
    return sum;
}

} // namespace

rank_nodes::rank_nodes(std::uint32_t ranks) : node_of_(ranks) {
    std::iota(node_of_.begin(), node_of_.end(), 0u);
}

std::vector<std::uint32_t> rank_nodes::on_node_of(std::uint32_t rank) const {
    std::vector<std::uint32_t> list;
    for (std::uint32_t other = 0; other < ranks(); ++other)
        if (share_node(rank, other))
            list.push_back(other);
    return list;
}

std::vector<std::uint32_t> rank_nodes::first_of_nodes() const {
    std::vector<std::uint32_t> list;
    for (std::uint32_t rank = 0; rank < ranks(); ++rank)
        if (std::ranges::find(node_of_, node_of_[rank]) - node_of_.begin() == rank)
            list.push_back(rank);
    return list;
}

std::vector<index_range> cut_into_slices(std::size_t elements, std::size_t segments,
                                         std::size_t elements_max) {
    const std::size_t unit = 16 * segments;
    const std::size_t size = (std::max<std::size_t>(elements_max, 1) + unit - 1) / unit * unit;
    std::vector<index_range> slices;
    while (elements > 0) {
        const std::size_t count = std::min(size, elements);
        elements -= count;
        slices.push_back({elements, count});
    }
    return slices;
}

std::size_t elements_sent_max(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks,
                              std::size_t elements) {
    std::size_t most = 0;
    for (std::uint32_t rank = 0; rank < ranks.ranks(); ++rank) {
        std::size_t sent = 0;
        for (const reduce_transfer& t : list_transfers(algorithm, rank, ranks))
            sent += elements_in(t.sends, segments_of(algorithm, ranks), elements);
        most = std::max(most, sent);
    }
    return most;
}

namespace {

// The time of a round: the longest of any rank's own part, plus the longest of any node's sends to other nodes, over one
// link for all its ranks.
struct round_cost {
    double own_ns = 0;
    std::map<std::uint32_t, double> bytes_of_node; // sent to other nodes, by the node's first rank

    double ns(const link_cost& between) const {
        double longest = 0;
        for (const auto& [node, bytes] : bytes_of_node)
            longest = std::max(longest, between.latency_ns + bytes * between.byte_ns);
        return own_ns + longest;
    }
};

} // namespace

double estimate_ns(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks,
                   std::size_t elements, const reduce_costs& costs) {
    const std::size_t segments = segments_of(algorithm, ranks);
    const auto bytes_in = [&](index_range range) {
        return static_cast<double>(elements_in(range, segments, elements)) * sizeof(float);
    };
    std::map<std::uint32_t, round_cost> rounds;
    for (std::uint32_t rank = 0; rank < ranks.ranks(); ++rank)
        for (const reduce_transfer& t : list_transfers(algorithm, rank, ranks)) {
            round_cost& round = rounds[t.round];
            double own = t.adds ? costs.add_byte_ns * bytes_in(t.receives) : 0;
            const double sent = bytes_in(t.sends);
            if (sent > 0 && ranks.share_node(rank, t.to))
                own += costs.within_node.latency_ns + sent * costs.within_node.byte_ns;
            else if (sent > 0)
                round.bytes_of_node[ranks.on_node_of(rank).front()] += sent;
            round.own_ns = std::max(round.own_ns, own);
        }
    double sum = 0;
    for (const auto& [number, round] : rounds)
        sum += round.ns(costs.between_nodes);
    return sum;
}

proto::AllReduceAlgorithm choose(proto::AllReduceAlgorithm wanted, const rank_nodes& ranks,
                                 std::size_t elements, const reduce_costs& costs) {
    if (wanted != proto::AllReduceAlgorithm::AUTO)
        return wanted;
    const std::size_t nodes = ranks.first_of_nodes().size();
    const bool has_levels = nodes > 1 && nodes < ranks.ranks();
    auto candidates = list_algorithms();
    if (!has_levels)
        std::erase(candidates, proto::AllReduceAlgorithm::HIERARCHICAL);
    return std::ranges::min(candidates, {}, [&](proto::AllReduceAlgorithm a) {
        return estimate_ns(a, ranks, elements, costs);
    });
}

} // namespace troupe

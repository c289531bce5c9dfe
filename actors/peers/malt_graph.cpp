#include "actors/peers/malt_graph.hpp"

#include <algorithm>
#include <bit>

namespace troupe {

double halton(std::uint32_t i) noexcept {
    double value = 0;
    double digit = 0.5;
    for (std::uint64_t rest = std::uint64_t{i} + 1; rest > 0; rest /= 2, digit /= 2)
        value += static_cast<double>(rest % 2) * digit;
    return value;
}

namespace {

// Offsets of the out-edges in the ring of replicas.
std::vector<std::uint32_t> offsets(proto::MaltGraph graph, std::uint32_t n) {
    std::vector<std::uint32_t> found;
    if (graph != proto::MaltGraph::HALTON) {
        for (std::uint32_t offset = 1; offset < n; ++offset)
            found.push_back(offset);
        return found;
    }
    const auto degree = static_cast<std::uint32_t>(std::bit_width(n) - 1);
    for (std::uint32_t i = 0; i < degree; ++i) {
        const auto around = static_cast<std::uint32_t>(n * halton(i));
        found.push_back(1 + (around + (n - 1) - n / 2) % (n - 1));
    }
    return found;
}

} // namespace

std::vector<std::uint32_t> out_edges(proto::MaltGraph graph, std::uint32_t rank,
                                     const std::vector<std::uint32_t>& live) {
    if (live.size() < 2)
        return {};
    if (graph == proto::MaltGraph::SERVER && rank != live.front())
        return {live.front()};
    const auto n = static_cast<std::uint32_t>(live.size());
    const auto place = static_cast<std::uint32_t>(std::ranges::find(live, rank) - live.begin());
    std::vector<std::uint32_t> to;
    for (const std::uint32_t offset : offsets(graph, n))
        to.push_back(live[(place + offset) % n]);
    std::ranges::sort(to);
    return to;
}

std::size_t in_degree(proto::MaltGraph graph, std::uint32_t rank,
                      const std::vector<std::uint32_t>& live) {
    std::size_t edges = 0;
    for (const std::uint32_t from : live)
        edges += static_cast<std::size_t>(std::ranges::count(out_edges(graph, from, live), rank));
    return edges;
}

bool newest_stamps::take(std::uint32_t rank, std::uint64_t stamp) {
    if (stamp < next_[rank])
        return false;
    next_[rank] = stamp + 1;
    return true;
}

} // namespace troupe

#include "actors/collective/all_reduce.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

using transfers = std::vector<reduce_transfer>;

std::size_t one_segment(const rank_nodes&) {
    return 1;
}

// ---- ring -----------------------------------------------------------------------------------------------------------

std::size_t ring_segments(const rank_nodes& all) {
    return all.ranks();
}

transfers ring(std::uint32_t rank, const rank_nodes& all) {
    const std::uint32_t ranks = all.ranks();
    transfers list;
    const std::uint32_t next = (rank + 1) % ranks;
    const std::uint32_t before = (rank + ranks - 1) % ranks;
    // `start`: the segment that this rank sends first; each round sends the one that came in the round before.
    const auto around = [&](std::uint32_t start, bool adds) {
        for (std::uint32_t s = 0; s + 1 < ranks; ++s) {
            const std::uint32_t sent = (start + ranks - s) % ranks;
            const std::uint32_t received = (sent + ranks - 1) % ranks;
            list.push_back({static_cast<std::uint32_t>(list.size()),
                            next,
                            {sent, 1},
                            before,
                            {received, 1},
                            adds});
        }
    };
    around(rank, true);
    around(next, false);
    return list;
}

// ---- by powers of two -----------------------------------------------------------------------------------------------

// The ranks that take part between folding and unfolding: the odd rank of each of the first `pairs` pairs, and all ranks
// after these pairs. A rank that takes part has a place, counted from 0.
struct folding {
    std::uint32_t power; // number of ranks that take part
    std::uint32_t pairs;

    explicit folding(std::uint32_t ranks) : power{std::bit_floor(ranks)}, pairs{ranks - power} {}

    bool sits_out(std::uint32_t rank) const { return rank < 2 * pairs && rank % 2 == 0; }
    std::uint32_t place_of(std::uint32_t rank) const {
        return rank < 2 * pairs ? rank / 2 : rank - pairs;
    }
    std::uint32_t rank_at(std::uint32_t place) const {
        return place < pairs ? 2 * place + 1 : place + pairs;
    }
};

// `between`: the transfers of a place among `power` places, with rounds from 0, and places in place of ranks.
template <class Between>
transfers folded(std::uint32_t rank, std::uint32_t ranks, index_range all, std::uint32_t rounds,
                 Between between) {
    const folding fold{ranks};
    const std::uint32_t last = rounds + 1;
    if (fold.sits_out(rank))
        return {{0, rank + 1, all, nobody, {}, false}, {last, nobody, {}, rank + 1, all, false}};
    transfers list;
    const bool stands_for_two = rank < 2 * fold.pairs;
    if (stands_for_two)
        list.push_back({0, nobody, {}, rank - 1, all, true});
    for (reduce_transfer t : between(fold.place_of(rank), fold.power)) {
        t.round += 1;
        t.to = t.from = fold.rank_at(t.to);
        list.push_back(t);
    }
    if (stands_for_two)
        list.push_back({last, rank - 1, all, nobody, {}, false});
    return list;
}

std::uint32_t log2_of(std::uint32_t power) {
    return static_cast<std::uint32_t>(std::countr_zero(power));
}

transfers recursive_doubling(std::uint32_t rank, const rank_nodes& among) {
    const std::uint32_t ranks = among.ranks();
    const index_range all{0, 1};
    return folded(rank, ranks, all, log2_of(std::bit_floor(ranks)),
                  [&](std::uint32_t place, std::uint32_t power) {
                      transfers list;
                      for (std::uint32_t away = 1; away < power; away *= 2) {
                          const std::uint32_t partner = place ^ away;
                          list.push_back({static_cast<std::uint32_t>(list.size()), partner, all,
                                          partner, all, true});
                      }
                      return list;
                  });
}

std::size_t halving_segments(const rank_nodes& all) {
    return std::bit_floor(all.ranks());
}

transfers halving_doubling(std::uint32_t rank, const rank_nodes& all) {
    const std::uint32_t ranks = all.ranks();
    const std::size_t segments = halving_segments(all);
    return folded(rank, ranks, {0, segments}, 2 * log2_of(std::bit_floor(ranks)),
                  [&](std::uint32_t place, std::uint32_t power) {
                      transfers list;
                      index_range own{0, segments};
                      for (std::uint32_t away = power / 2; away > 0; away /= 2) {
                          const index_range lower{own.first, own.count / 2};
                          const index_range upper{own.first + own.count / 2, own.count / 2};
                          const bool keeps_lower = (place & away) == 0;
                          own = keeps_lower ? lower : upper;
                          list.push_back({static_cast<std::uint32_t>(list.size()), place ^ away,
                                          keeps_lower ? upper : lower, place ^ away, own, true});
                      }
                      for (std::uint32_t away = 1; away < power; away *= 2) {
                          const bool has_lower = (place & away) == 0;
                          const index_range others{
                              has_lower ? own.first + own.count : own.first - own.count, own.count};
                          list.push_back({static_cast<std::uint32_t>(list.size()), place ^ away,
                                          own, place ^ away, others, false});
                          own = {std::min(own.first, others.first), 2 * own.count};
                      }
                      return list;
                  });
}

// ---- tree -----------------------------------------------------------------------------------------------------------

// The transfers of one of `ranks` places up a binomial tree to place 0, in the first rounds, and down again, in the rounds
// that end with `last`.
struct tree_way {
    transfers up, down;

    tree_way(std::uint32_t place, std::uint32_t ranks, index_range all, std::uint32_t last) {
        for (std::uint32_t level = 0; 1u << level < ranks; ++level) {
            const std::uint32_t away = 1u << level;
            if (place & away) {
                up.push_back({level, place - away, all, nobody, {}, false});
                down.push_back({last - level, nobody, {}, place - away, all, false});
                break;
            }
            if (place + away < ranks) {
                up.push_back({level, nobody, {}, place + away, all, true});
                down.push_back({last - level, place + away, all, nobody, {}, false});
            }
        }
        std::ranges::reverse(down);
    }
};

std::uint32_t tree_levels(std::size_t ranks) {
    return log2_of(std::bit_ceil(static_cast<std::uint32_t>(ranks)));
}

transfers tree(std::uint32_t rank, const rank_nodes& all) {
    tree_way way{rank, all.ranks(), {0, 1}, 2 * tree_levels(all.ranks()) - 1};
    way.up.insert(way.up.end(), way.down.begin(), way.down.end());
    return way.up;
}

// ---- within nodes and between them ----------------------------------------------------------------------------------

std::size_t hierarchical_segments(const rank_nodes& all) {
    return halving_segments(static_cast<std::uint32_t>(all.first_of_nodes().size()));
}

transfers hierarchical(std::uint32_t rank, const rank_nodes& all) {
    const auto firsts = all.first_of_nodes();
    const auto nodes = static_cast<std::uint32_t>(firsts.size());
    const auto here = all.on_node_of(rank);
    std::uint32_t levels = 0; // of the tree on the node with the most ranks
    for (const std::uint32_t first : firsts)
        levels = std::max(levels, tree_levels(all.on_node_of(first).size()));
    // The rounds between nodes, with those that fold and unfold.
    const std::uint32_t between = nodes == 1 ? 0 : 2 * log2_of(std::bit_floor(nodes)) + 2;

    const auto place = static_cast<std::uint32_t>(std::ranges::find(here, rank) - here.begin());
    tree_way way{place,
                 static_cast<std::uint32_t>(here.size()),
                 {0, hierarchical_segments(all)},
                 2 * levels + between - 1};
    transfers list;
    const auto add = [&](const transfers& more, const std::vector<std::uint32_t>& ranks,
                         std::uint32_t rounds_before) {
        for (reduce_transfer t : more) {
            t.round += rounds_before;
            t.to = t.to == nobody ? nobody : ranks[t.to];
            t.from = t.from == nobody ? nobody : ranks[t.from];
            list.push_back(t);
        }
    };
    add(way.up, here, 0);
    if (place == 0 && nodes > 1) {
        const auto number =
            static_cast<std::uint32_t>(std::ranges::find(firsts, rank) - firsts.begin());
        add(halving_doubling(number, nodes), firsts, levels);
    }
    add(way.down, here, 0);
    return list;
}

// ---- the table ------------------------------------------------------------------------------------------------------

struct row {
    proto::AllReduceAlgorithm algorithm;
    std::string_view name;
    std::size_t (*segments)(const rank_nodes& all);
    transfers (*list)(std::uint32_t rank, const rank_nodes& all);
};

constexpr std::array rows{
    row{proto::AllReduceAlgorithm::RING, "ring", ring_segments, ring},
    row{proto::AllReduceAlgorithm::RECURSIVE_DOUBLING, "recursive_doubling", one_segment,
        recursive_doubling},
    row{proto::AllReduceAlgorithm::HALVING_DOUBLING, "halving_doubling", halving_segments,
        halving_doubling},
    row{proto::AllReduceAlgorithm::TREE, "tree", one_segment, tree},
    row{proto::AllReduceAlgorithm::HIERARCHICAL, "hierarchical", hierarchical_segments,
        hierarchical},
};

const row& row_of(proto::AllReduceAlgorithm algorithm) {
    const auto found = std::ranges::find(rows, algorithm, &row::algorithm);
    TROUPE_CHECK(found != rows.end(), "the caller has asked whether it is known");
    return *found;
}

} // namespace

std::vector<proto::AllReduceAlgorithm> list_algorithms() {
    std::vector<proto::AllReduceAlgorithm> list;
    for (const row& r : rows)
        list.push_back(r.algorithm);
    return list;
}

bool is_known(proto::AllReduceAlgorithm algorithm) {
    return algorithm == proto::AllReduceAlgorithm::AUTO ||
           std::ranges::find(rows, algorithm, &row::algorithm) != rows.end();
}

std::string_view name_of(proto::AllReduceAlgorithm algorithm) {
    return algorithm == proto::AllReduceAlgorithm::AUTO ? "auto" : row_of(algorithm).name;
}

std::size_t segments_of(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks) {
    return row_of(algorithm).segments(ranks);
}

index_range elements_of(std::size_t segment, std::size_t segments, std::size_t elements) {
    const std::size_t size = elements / segments;
    const std::size_t larger = elements % segments;
    return {segment * size + std::min(segment, larger), size + (segment < larger ? 1 : 0)};
}

transfers list_transfers(proto::AllReduceAlgorithm algorithm, std::uint32_t rank,
                         const rank_nodes& ranks) {
    TROUPE_CHECK(rank < ranks.ranks(), "a rank is one of the ranks");
    return ranks.ranks() == 1 ? transfers{} : row_of(algorithm).list(rank, ranks);
}

} // namespace troupe

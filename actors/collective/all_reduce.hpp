// All-reduce: every rank ends with the sum of what all ranks began with. What each rank sends and receives in which round.
//
// Pure: an algorithm is a function from a rank to its rounds. No rank asks another; the rounds fit together by construction.
// They can be listed, counted and checked without sending anything.
//
// The elements are cut into segments. A rank's transfer of a round sends what it holds before the round, and then takes what
// it receives: adds it to what is there, or puts it in its place.
//
//   ring               p segments, once around to sum them, once more to pass the sums on
//   recursive doubling all elements, with the partner 1, 2, 4, ... ranks away
//   halving doubling   half of the segments, a quarter, ... with the partner p/2, p/4, ... ranks away, and back
//   tree               all elements up a binomial tree to rank 0, and down again
//   hierarchical       all elements up a tree within each node to its first rank; halving doubling between these; down again
//
// With p ranks and n elements, and what a rank sends at most:
//
//                      rounds              elements
//   ring               2 (p - 1)           2 n (p - 1) / p
//   recursive doubling log2 p              n log2 p
//   halving doubling   2 log2 p            2 n (p - 1) / p
//   tree               2 ceil(log2 p)      n ceil(log2 p), of rank 0
//   hierarchical       of q nodes with m ranks each: 2 ceil(log2 m) within them, by memory, and halving doubling's of q
//
// Where p is no power of two, the doubling ones fold the first ranks beyond one in pairs before, and unfold them after: two
// rounds and up to n elements more. Source: Thakur, Rabenseifner and Gropp, Optimization of Collective Communication
// Operations in MPICH, 2005; ring: Patarasuk and Yuan 2009.
//
// Every element is summed in one order, the same for all ranks: they end with the same bits.
//
// Slices: what is much is cut into slices, each of which takes these rounds by itself, several at a time, so that one is
// added while the next is on its way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "actors/collective/link_cost.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

// first .. first + count; of segments, or of elements.
struct index_range {
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const index_range&, const index_range&) = default;
};

inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

// What a rank does in a round. Empty ranges go with nobody.
struct reduce_transfer {
    std::uint32_t round = 0; // counts over all ranks: what is sent in a round is received in it
    std::uint32_t to = nobody;
    index_range sends; // segments
    std::uint32_t from = nobody;
    index_range receives;
    bool adds = false;
};

// The ranks of an all-reduce, and which of them share a node. A value.
class rank_nodes {
  public:
    rank_nodes(std::uint32_t ranks); // each on a node of its own
    // By rank: the number of its node, any numbers.
    explicit rank_nodes(std::vector<std::uint32_t> node_of) : node_of_{std::move(node_of)} {}

    std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(node_of_.size()); }
    bool share_node(std::uint32_t a, std::uint32_t b) const noexcept {
        return node_of_[a] == node_of_[b];
    }
    // The ranks on the node of this one, in order; and the first of every node.
    std::vector<std::uint32_t> on_node_of(std::uint32_t rank) const;
    std::vector<std::uint32_t> first_of_nodes() const;

  private:
    std::vector<std::uint32_t> node_of_;
};

// Into how many segments so many ranks cut the elements of a slice.
std::size_t segments_of(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks);

// The elements of a segment: sizes differ by at most one, the larger ones first. Empty where there are more segments than
// elements.
index_range elements_of(std::size_t segment, std::size_t segments, std::size_t elements);

// The rounds of one of `ranks` ranks, in order; none for a rank alone. `algorithm` is one of those above, not `auto`.
std::vector<reduce_transfer> list_transfers(proto::AllReduceAlgorithm algorithm, std::uint32_t rank,
                                            const rank_nodes& ranks);

// The elements of each slice, those with the highest numbers first: a backward pass has the gradients of the last layers
// first. Slices but the last are of `elements_max` elements, rounded up such that all segments have as many and begin at a
// multiple of 16: so what is sent in all is what the table above says.
std::vector<index_range> cut_into_slices(std::size_t elements, std::size_t segments,
                                         std::size_t elements_max);

// What each rank sends at most, elements.
std::size_t elements_sent_max(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks,
                              std::size_t elements);

// How long all ranks take for float32 elements where every round waits for the one before, and all ranks of a node send over
// one link.
double estimate_ns(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks,
                   std::size_t elements, const reduce_costs& costs = measured_costs);

// `wanted`, or for `auto` the fastest by estimate_ns. All ranks choose the same.
proto::AllReduceAlgorithm choose(proto::AllReduceAlgorithm wanted, const rank_nodes& ranks,
                                 std::size_t elements, const reduce_costs& costs = measured_costs);

std::string_view name_of(proto::AllReduceAlgorithm algorithm); // "ring"
std::vector<proto::AllReduceAlgorithm> list_algorithms();      // all but `auto`
bool is_known(proto::AllReduceAlgorithm algorithm);            // `auto` is, too

} // namespace troupe

// All-reduce: every rank ends with the sum of all ranks' inputs. The transfers that each rank makes in each round.
//
// Pure: an algorithm is a function from a rank to its rounds. No rank asks another; the rounds fit together by construction.
// They can be listed, counted and checked without sending anything.
//
// The elements are cut into segments. In the transfer of a round a rank sends segments as they were before the round, and
// then adds the segments that it receives to its own, or replaces its own by them.
//
//   ring               p segments, once around to sum them, once more to pass the sums on
//   recursive doubling all elements, with the partner 1, 2, 4, ... ranks away
//   halving doubling   half of the segments, a quarter, ... with the partner p/2, p/4, ... ranks away, and back
//   tree               all elements up a binomial tree to rank 0, and down again
//   hierarchical       all elements up a tree within each node to its first rank; halving doubling between these; down again
//
// The rounds, and the most elements that a rank sends, with p ranks and n elements:
//
//                      rounds              elements
//   ring               2 (p - 1)           2 n (p - 1) / p
//   recursive doubling log2 p              n log2 p
//   halving doubling   2 log2 p            2 n (p - 1) / p
//   tree               2 ceil(log2 p)      n ceil(log2 p), of rank 0
//   hierarchical       of q nodes with m ranks each: 2 ceil(log2 m) within them, by memory, and halving doubling's of q
//
// Where p is no power of two, the doubling algorithms first fold pairs of ranks, such that a power of two takes part, and
// unfold them at the end: two rounds and up to n elements more. Source: Thakur, Rabenseifner and Gropp, Optimization of
// Collective Communication Operations in MPICH, 2005; ring: Patarasuk and Yuan 2009.
//
// Every element is summed in one order, the same for all ranks: they end with the same bits.
//
// Slices: large inputs are cut into slices. Each slice takes these rounds by itself, several at a time, so that one is added
// while the next is being sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "actors/collective/link_cost.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

// The range first .. first + count of segments, or of elements.
struct index_range {
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const index_range&, const index_range&) = default;
};

inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

// The transfer of a rank in a round. A range is empty where its partner is nobody.
struct reduce_transfer {
    std::uint32_t round = 0; // numbered alike at all ranks: a part is received in its round
    std::uint32_t to = nobody;
    index_range sends; // segments
    std::uint32_t from = nobody;
    index_range receives;
    bool adds = false;
};

// The ranks of an all-reduce, and their nodes. A value.
class rank_nodes {
  public:
    rank_nodes(std::uint32_t ranks); // each rank on a node of its own
    // `node_of`: the node of each rank, by any numbers.
    explicit rank_nodes(std::vector<std::uint32_t> node_of) : node_of_{std::move(node_of)} {}

    std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(node_of_.size()); }
    bool share_node(std::uint32_t a, std::uint32_t b) const noexcept {
        return node_of_[a] == node_of_[b];
    }
    // The ranks on the node of this rank, in order; and the first rank of every node.
    std::vector<std::uint32_t> on_node_of(std::uint32_t rank) const;
    std::vector<std::uint32_t> first_of_nodes() const;

  private:
    std::vector<std::uint32_t> node_of_;
};

// The number of segments that these ranks cut the elements of a slice into.
std::size_t segments_of(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks);

// The elements of a segment: sizes differ by at most one, the larger ones first. Empty where there are more segments than
// elements.
index_range elements_of(std::size_t segment, std::size_t segments, std::size_t elements);

// The transfers of one rank, in the order of rounds; none if there is only one rank. `algorithm` is one of those above, not
// `auto`.
std::vector<reduce_transfer> list_transfers(proto::AllReduceAlgorithm algorithm, std::uint32_t rank,
                                            const rank_nodes& ranks);

// The elements of each slice; slices with higher elements come first, as a backward pass has the last layers' gradients
// first. All slices but the last have `elements_max` elements, rounded up such that all segments are equally long and begin
// at a multiple of 16: so all slices together send what the table above says.
std::vector<index_range> cut_into_slices(std::size_t elements, std::size_t segments,
                                         std::size_t elements_max);

// The most elements that a rank sends.
std::size_t elements_sent_max(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks,
                              std::size_t elements);

// The estimated time of an all-reduce of float32 elements, where every round waits for the one before and all ranks of a
// node send over one link.
double estimate_ns(proto::AllReduceAlgorithm algorithm, const rank_nodes& ranks,
                   std::size_t elements, const reduce_costs& costs = measured_costs);

// `wanted`, or for `auto` the fastest by estimate_ns. All ranks choose the same.
proto::AllReduceAlgorithm choose(proto::AllReduceAlgorithm wanted, const rank_nodes& ranks,
                                 std::size_t elements, const reduce_costs& costs = measured_costs);

std::string_view name_of(proto::AllReduceAlgorithm algorithm); // "ring"
std::vector<proto::AllReduceAlgorithm> list_algorithms();      // all but `auto`
bool is_known(proto::AllReduceAlgorithm algorithm);            // true for `auto`, too

} // namespace troupe

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
//
// With p ranks and n elements, and what a rank sends at most:
//
//                      rounds              elements
//   ring               2 (p - 1)           2 n (p - 1) / p
//   recursive doubling log2 p              n log2 p
//   halving doubling   2 log2 p            2 n (p - 1) / p
//   tree               2 ceil(log2 p)      n ceil(log2 p), of rank 0
//
// Where p is no power of two, the doubling ones fold the first ranks beyond one in pairs before, and unfold them after: two
// rounds and up to n elements more. Source: Thakur, Rabenseifner and Gropp, Optimization of Collective Communication
// Operations in MPICH, 2005; ring: Patarasuk and Yuan 2009.
//
// Every element is summed in one order, the same for all ranks: they end with the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

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

// Into how many segments so many ranks cut the elements.
std::size_t segments_of(proto::AllReduceAlgorithm algorithm, std::uint32_t ranks);

// The elements of a segment: sizes differ by at most one, the larger ones first. Empty where there are more segments than
// elements.
index_range elements_of(std::size_t segment, std::size_t segments, std::size_t elements);

// The rounds of one of `ranks` ranks, in order; none for a rank alone. `algorithm` is one of those above, not `auto`.
std::vector<reduce_transfer> list_transfers(proto::AllReduceAlgorithm algorithm, std::uint32_t rank,
                                            std::uint32_t ranks);

// What a message costs, and a byte of it.
struct link_cost {
    double latency_ns = 0;
    double byte_ns = 0;
};

// How long all ranks take for float32 elements if all links cost the same and every round waits for the one before.
double estimate_ns(proto::AllReduceAlgorithm algorithm, std::uint32_t ranks, std::size_t elements,
                   link_cost link);

// `wanted`, or for `auto` the fastest by estimate_ns.
proto::AllReduceAlgorithm choose(proto::AllReduceAlgorithm wanted, std::uint32_t ranks,
                                 std::size_t elements, link_cost link);

std::string_view name_of(proto::AllReduceAlgorithm algorithm); // "ring"
std::vector<proto::AllReduceAlgorithm> list_algorithms();      // all but `auto`
bool is_known(proto::AllReduceAlgorithm algorithm);            // `auto` is, too

} // namespace troupe

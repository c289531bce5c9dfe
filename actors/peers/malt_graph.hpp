// MALT: the edges along which replicas send their weights, and which of the arrived weights are kept. Pure. Source: Li,
// Kadav, Kruus and Ungureanu 2015.
//
// With n replicas, in a round in which each sends once:
//
//            messages             out-edges of replica r
//   all      n (n - 1)            all others
//   halton   n floor(log2 n)      floor(n h), h = 1/2, 1/4, 3/4, 1/8, ... of the way around, turned over the others so that
//                                 the first is the next replica: r + 1 + (floor(n h) - floor(n / 2)) mod (n - 1)
//   server   2 (n - 1)            of the first all others, of the others the first
//
// The graph is strongly connected, and with all and halton a replica receives from as many as it sends to.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/topology.capnp.h"

namespace troupe {

// The ranks that `rank` sends to, ascending. `live` holds the live ranks, ascending, and contains `rank`.
std::vector<std::uint32_t> out_edges(proto::MaltGraph graph, std::uint32_t rank,
                                     const std::vector<std::uint32_t>& live);

// The number of ranks that this rank receives from.
std::size_t in_degree(proto::MaltGraph graph, std::uint32_t rank,
                      const std::vector<std::uint32_t>& live);

// The radical inverse of i + 1 in base 2: 1/2, 1/4, 3/4, 1/8, ...
double halton(std::uint32_t i) noexcept;

// The newest stamp of each rank: weights that arrive later replace weights that have not been used yet.
class newest_stamps {
  public:
    explicit newest_stamps(std::size_t ranks) : next_(ranks) {}

    // True if this stamp is newer than all earlier ones of this rank.
    bool take(std::uint32_t rank, std::uint64_t stamp);
    void forget(std::uint32_t rank) { next_[rank] = 0; } // another peer has its place

  private:
    std::vector<std::uint64_t> next_;
};

} // namespace troupe

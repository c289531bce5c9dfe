// The last tours that a colony has come to, and what they give together: in generations each takes over from another one
// what shortens it (tour_crossing.hpp), until nothing does.
//
// Threads: one. The instance, which is symmetric, and the candidates outlive it. Memory: that of the tours twice while they
// breed; 64 MiB of them, or a few tours of very many cities. A colony saves them with each commit.
// Source: Nagata, Kobayashi, A powerful genetic algorithm using edge assembly crossover for the traveling salesman problem
// (2013); the tours to begin with are better here, and fewer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/tsp/tour_crossing.hpp"

namespace troupe::tsp {

class tour_pool {
  public:
    // As many as it holds.
    static std::size_t tours_max(std::size_t cities) noexcept;

    tour_pool(const instance& of, const candidates& near) : of_{of}, crossing_{of, near} {}

    // The oldest one goes where there are as many as can be.
    void add(std::span<const city> tour);
    // A tour bred of them and of `best`, if it is shorter, takes the place of `best`; by how much it is shorter. They
    // themselves stay as they are, so that what one of them alone has is not lost.
    std::int64_t breed(std::vector<city>& best, random_stream& random);

    // One behind the other, the oldest first.
    std::span<const city> tours() const noexcept { return tours_; }
    void set(std::span<const city> tours) { tours_.assign(tours.begin(), tours.end()); }

  private:
    const instance& of_;
    tour_crossing crossing_;
    std::vector<city> tours_;
};

} // namespace troupe::tsp

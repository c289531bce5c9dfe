// Tours that a scheduler of the program "tsp" knows: each colony's best tour, the shortest of all, and how it came to that.
//
// Threads: a value. Errors: errc::protocol for what is no tour, or of no colony.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

class found_tours {
  public:
    found_tours(std::uint32_t colonies, std::size_t cities);

    // Takes what a colony has after a phase: `tour` is empty if it has the tour that is known.
    result<void> take(std::uint32_t colony, std::int64_t length, std::int64_t built,
                      std::span<const city> tour);

    std::uint32_t colonies() const noexcept { return static_cast<std::uint32_t>(lengths_.size()); }
    std::span<const std::int64_t> lengths() const noexcept { return lengths_; } // -1: none yet
    std::span<const std::int64_t> built() const noexcept { return built_; }
    std::span<const city> tour_of(std::uint32_t colony) const noexcept {
        return {tours_.data() + std::size_t{colony} * cities_, cities_};
    }
    // Whether all colonies have one.
    bool are_there() const noexcept;
    // The colony with the shortest tour; the first of equal ones.
    std::uint32_t best() const noexcept;
    std::int64_t best_length() const noexcept { return lengths_[best()]; }
    std::int64_t least_built() const noexcept;

    // ---- exchanges ----
    // Those whose tours have changed since they were handed out last.
    std::vector<std::int32_t> changed() const;
    void handed_out() noexcept { given_ = lengths_; }
    // The shortest that has been handed out; -1: none.
    std::int64_t best_given() const noexcept;

    // ---- as it is saved ----
    std::span<const city> tours() const noexcept { return tours_; }
    std::span<const std::int64_t> given() const noexcept { return given_; }
    result<void> load(std::span<const city> tours, std::span<const std::int64_t> lengths,
                      std::span<const std::int64_t> built, std::span<const std::int64_t> given);

  private:
    std::size_t cities_;
    std::vector<city> tours_; // of all colonies, one behind the other
    std::vector<std::int64_t> lengths_, built_, given_;
};

} // namespace troupe::tsp

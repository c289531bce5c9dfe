// A colony of ants on a travelling salesman problem.
//
//     auto near = candidates_for(problem, settings);
//     auto ants = make_colony(problem, near, settings, seed);
//     ants->advance(1000, operations);                          // builds 1000 tours, or a few more
//     ants->take_in(tour_of_another_colony);
//     send(ants->best());
//
// The kinds: ant system (ant_system.hpp: all ants lay trails), max-min (the best one does, trails have limits), ant colony
// system (ants take trails up as they go), focused (focused_colony.hpp: an ant changes a few edges of a good tour).
//
// Same instance, settings, seed, calls: same bits. Nothing depends on time; after load() it goes on as the one that was
// saved.
//
// Threads: one for each colony. The instance and the candidates outlive it, and may be shared. Errors: errc::protocol for
// states of other colonies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "apps/tsp/candidates.hpp"
#include "apps/tsp/improver.hpp"
#include "apps/tsp/instance.hpp"
#include "kernels/ops/tours.hpp"
#include "schemas/base/error.hpp"

namespace troupe {
class operations;
}

namespace troupe::tsp {

enum class colony_kind : std::uint8_t { ant_system, max_min, ant_colony_system, focused };

struct colony_settings {
    colony_kind kind = colony_kind::focused;
    search_kind search = search_kind::lin_kernighan;
    city_choice choice = city_choice::exact;
    std::uint32_t ants = 0;       // of an iteration; 0: as is usual for the kind
    std::uint32_t candidates = 0; // of a city; 0: likewise
    double alpha = 1;             // power of the trail
    double beta = 2;              // power of nearness
    double evaporation =
        0; // share of the trails that each iteration takes away; 0: as is usual for the kind
    double greed = 0.9; // of the ant colony system: how often the best candidate is taken outright
};

// How many candidates a city has; at least 1 and at most limits::candidates_max.
std::uint32_t candidates_of(const colony_settings& settings);
// As make_colony expects them: of the focused colony alpha-near ones.
candidates candidates_for(const instance& of, const colony_settings& settings);

struct colony_report {
    std::uint64_t tours = 0; // built so far
    std::int64_t best = 0;   // length
    double mean =
        0; // length, of the last iteration's tours, or of the first one's so far; 0: none yet
    double branching = 0; // of the trails, trails::branching_factor
};

// All of a colony that its making does not decide.
struct colony_state {
    std::vector<std::int64_t> numbers;
    std::vector<city> tours; // one behind the other
    std::vector<double> trails;
};

class colony {
  public:
    virtual ~colony() = default;

    // Builds at least that many tours, in whole iterations; how many. Errors: those of the operations.
    virtual result<std::uint64_t> advance(std::uint64_t tours, operations& with) = 0;

    // Never empty: before the first tour the one to begin with.
    virtual std::span<const city> best() const noexcept = 0;
    virtual std::int64_t best_length() const noexcept = 0;
    // From elsewhere. The best one is the shorter of both then, or has what is best of each; whether it is shorter than
    // before. TROUPE_CHECK: it is a tour; what comes from outside is checked by is_tour() first.
    virtual bool take_in(std::span<const city> tour) = 0;

    virtual colony_report report() const = 0;
    virtual colony_state save() const = 0;
    virtual result<void> load(const colony_state& state) = 0;
};

std::unique_ptr<colony> make_colony(const instance& of, const candidates& near,
                                    const colony_settings& settings, std::uint64_t seed);

} // namespace troupe::tsp

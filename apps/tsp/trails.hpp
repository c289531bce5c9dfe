// Trails of pheromone on candidate edges alone, so that memory grows with the cities; and the weights by which ants choose:
// trail^alpha / length^beta. Operations (kernels/ops/tours.hpp) read and change them.
//
// Of symmetric problems a trail lies on both ways of an edge, as far as each end is a candidate of the other.
//
// Threads: one. Throws std::bad_alloc where there is no memory. Source: Dorigo, Stützle, Ant colony optimization (2004).
#pragma once

#include <limits>
#include <span>

#include "apps/tsp/candidates.hpp"
#include "apps/tsp/instance.hpp"
#include "kernels/ops/tours.hpp"

namespace troupe {
class operations;
}

namespace troupe::tsp {

// In host memory of the pool.
tensor made_tensor(memory_pool& pool, data_type type, tensor_shape shape);

class trails {
  public:
    struct powers {
        double trail = 1;  // alpha
        double length = 2; // beta
    };
    trails(const instance& of, const candidates& near, powers by);

    // All the same.
    void fill(double value);
    // As update_trails has it.
    struct change {
        double kept = 1;
        bool evaporates_laid_alone = false;
        double low = 0;
        double high = std::numeric_limits<double>::infinity();
    };
    // Tours are (tours, cities), amounts (tours). Errors: those of the operations.
    result<void> lay(operations& with, const change& how, const tensor& tours,
                     const tensor& amounts);
    result<void> lay(operations& with, const change& how, std::span<const city> tour,
                     double amount);

    std::span<const double> weights(city c) const {
        return weights_.values<double>().subspan(static_cast<std::size_t>(c) * near_.count(),
                                                 near_.count());
    }
    trail_operands operands() noexcept;

    // How many candidates of a city have more than a little trail, on average: 1 and a little where the colony has
    // converged.
    double branching_factor() const;

    std::span<const double> values() const { return values_.values<double>(); }
    // As many as there are.
    void set(std::span<const double> values);

  private:
    void weigh();

    const candidates& near_;
    const bool is_symmetric_;
    const double alpha_;
    memory_pool memory_{std::numeric_limits<std::uint64_t>::max() / 2};
    tensor candidates_, nearness_, values_, weights_; // (cities, candidates of each)
    tensor tour_, amount_;                            // of one that is laid
};

} // namespace troupe::tsp

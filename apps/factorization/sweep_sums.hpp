// Sums of a sweep, in parts, and what follows from them: the numbers that a run reports, and whether it is over.
//
// As payloads, sums are a vector of float64. Threads: values. Errors: errc::protocol for what is no such payload;
// errc::numeric when the factors have grown without bound.
#pragma once

#include <array>
#include <span>
#include <string>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::factorization {

struct sweep_sums {
    double ratings = 0;
    double squares = 0; // of the errors of ratings
    double held_out = 0;
    double held_out_squares = 0;
    // Squared factors and biases of users and items, once for each rating.
    double penalised = 0;

    void add(const sweep_sums& other);
};

result<scheduled::payload> to_payload(memory_pool& memory, const sweep_sums& sums);
result<sweep_sums> read_sums(const scheduled::payload& from);
// Adds those of all workers, or schedulers, in their order.
result<sweep_sums> sum_of(std::span<const scheduled::payload> parts);

// From sweep to sweep. The objective is (squares + penalty * penalised) / ratings; a run is over when it has changed by at
// most `gap` of itself.
class progress {
  public:
    progress(double penalty, double gap) : penalty_{penalty}, gap_{gap} {}

    // After a sweep. `advice`: what to do if the numbers are none.
    result<scheduled::standing> conclude(const sweep_sums& sums, const std::string& advice);

    // Numbers of the last sweep: objective, root mean square errors, sweeps. Negative where there is none.
    struct numbers {
        double objective = -1;
        double training_rmse = -1;
        double rmse = -1;
        double sweeps = 0;
    };
    const numbers& last() const noexcept { return last_; }
    void restore(const numbers& last) { last_ = last; }
    std::array<double, 4> state() const {
        return {last_.objective, last_.training_rmse, last_.rmse, last_.sweeps};
    }

  private:
    double penalty_, gap_;
    numbers last_;
};

// The numbers that a scheduler has saved as "last": progress::state.
result<progress::numbers> read_progress(const scheduled::saved_part& saved);

} // namespace troupe::factorization

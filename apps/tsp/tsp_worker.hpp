// The worker part of the program "tsp": a colony of its own on all cities. Its random numbers depend on the run's seed and
// on the number of the worker alone.
//
// In a phase the colony builds as many tours as the phase says, from "first" on:
//
//     content   0  tours    int64, 2: built before by each colony, and to be built
//     partial   0  numbers  int64, 2: length of the best tour, tours built so far
//               1  tour     int32: the best tour, in its order, or empty if the scheduler has it
//     changes   0  from     int32: numbers of colonies, rising
//               1  lengths  int64: of their tours
//               2  tours    int32: as many x cities
//
// There are no changes in phases without an exchange. Of a probe: 0 float64, 2: mean length of the last iteration, and the
// branching factor of the trails.
//
// Threads, ownership, errors: as scheduled::worker_part says. What comes from other colonies is taken in only if it is a
// tour of the length that is said: errc::protocol otherwise.
#pragma once

#include <memory>
#include <optional>

#include "actors/scheduled/program.hpp"
#include "apps/tsp/city_pieces.hpp"
#include "apps/tsp/colony.hpp"
#include "apps/tsp/program_settings.hpp"

namespace troupe::tsp {

struct worker_options {
    memory_pool* memory = nullptr; // outlives the part
    tsp_settings settings;
    std::uint64_t seed = 0;
    std::uint32_t worker = 0;
    std::uint32_t workers = 1;
    std::uint64_t cities = 0;
    std::uint64_t tours_max = 0; // of a phase
};
worker_options options_of(const scheduled::worker_site& site, const tsp_settings& settings);

// The seed of a colony of a run.
std::uint64_t colony_seed(std::uint64_t run_seed, std::uint32_t worker);

class tsp_worker final : public scheduled::worker_part {
  public:
    explicit tsp_worker(worker_options options);

    result<void> take_data(const scheduled::payload& piece) override;
    result<void> data_is_complete() override;
    result<void> apply(const scheduled::phase_deltas& deltas) override;
    result<scheduled::payload> push(const scheduled::phase& p, compute_context&) override;
    result<scheduled::payload> probe(const scheduled::phase& p, std::uint32_t scheduler,
                                     compute_context&) override;
    // "8192 tours, best 7542"
    std::string describe(const scheduled::phase& p) const override;
    result<scheduled::saved_part> save() const override;
    result<void> load(const scheduled::saved_part& saved) override;

  private:
    bool hears(std::uint32_t from) const noexcept;

    const worker_options options_;
    std::optional<city_builder> builder_; // while data arrives
    std::optional<instance> cities_;
    std::optional<candidates> near_;
    std::unique_ptr<colony> colony_;
    std::int64_t built_ = 0; // tours
    std::int64_t sent_ = -1; // length of the tour that was sent last; -1: none was
};

} // namespace troupe::tsp

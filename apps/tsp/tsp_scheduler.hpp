// The scheduler part of the program "tsp": numbers the tours that colonies build, hands the best ones of some to others, and
// says when the run is over. There is one. Its messages are tsp_worker.hpp's.
//
// Threads, ownership, errors: as scheduled::scheduler_part says.
#pragma once

#include "actors/scheduled/program.hpp"
#include "apps/tsp/found_tours.hpp"
#include "apps/tsp/program_settings.hpp"

namespace troupe::tsp {

struct scheduler_options {
    memory_pool* memory = nullptr; // outlives the part
    exchange_kind exchange = exchange_kind::ring;
    std::uint32_t colonies = 1;
    std::uint64_t cities = 0;
    std::uint64_t tours_of_phase = 1;
    std::uint64_t tours_between_exchanges = 1;
    std::uint64_t length = 0; // stop.length, and stop.iterations; 0: no bound
    std::uint64_t tours = 0;
};
scheduler_options options_of(const scheduled::scheduler_site& site, const tsp_settings& settings);

class tsp_scheduler final : public scheduled::scheduler_part {
  public:
    explicit tsp_scheduler(scheduler_options options)
        : options_{options}, found_{options_.colonies, options_.cities} {}

    result<scheduled::phase> schedule(std::uint64_t number, random_stream& random) override;
    result<scheduled::payload> pull(const scheduled::phase& p, scheduled::in_flight deltas,
                                    std::span<const scheduled::payload> partials) override;
    result<scheduled::payload> judge(std::uint64_t number, scheduled::in_flight deltas,
                                     std::span<const scheduled::payload> partials) override;
    result<scheduled::standing> conclude(std::uint64_t number,
                                         std::span<const scheduled::payload> judgements) override;
    std::string describe(const scheduled::phase& p) const override;
    result<scheduled::saved_part> save() const override;
    result<void> load(const scheduled::saved_part& saved) override;

    const found_tours& found() const noexcept { return found_; }
    // At each probe at which a colony had a shorter tour than at the one before: tours that each had built, and the
    // lengths of the best tours of all.
    std::span<const std::int64_t> course() const noexcept { return course_; }

  private:
    bool is_over() const noexcept;
    result<scheduled::payload> exchange();

    scheduler_options options_;
    found_tours found_;
    std::int64_t scheduled_ = 0;   // tours of each colony, in phases that have been chosen
    std::int64_t pulled_ = 0;      // the same of those that have been pulled
    std::int64_t since_probe_ = 0; // phases
    std::vector<std::int64_t> course_;
    std::int64_t shown_ =
        -1; // length of the tour that was told of last (standing::so_far); not saved
};

// Changes a saved scheduler for a run that drops what was under way.
result<void> forget_phases_under_way(scheduled::saved_part& saved, memory_pool& memory);

} // namespace troupe::tsp

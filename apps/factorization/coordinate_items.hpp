// The scheduler part of factorization by coordinates: some of the items, whose factors it makes the best ones for the users'
// as they are, from what all workers have added up. Phases have no content: all know from a phase's number what it is about.
//
// Threads, ownership, errors: as scheduled::scheduler_part says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "apps/factorization/coordinate_order.hpp"
#include "apps/factorization/rating_level.hpp"
#include "apps/factorization/settings.hpp"
#include "apps/factorization/sweep_sums.hpp"

namespace troupe::factorization {

class coordinate_items final : public scheduled::scheduler_part {
  public:
    coordinate_items(const scheduled::scheduler_site& site, const factorization_settings& settings);

    result<scheduled::phase> schedule(std::uint64_t number, random_stream& random) override;
    result<scheduled::payload> pull(const scheduled::phase& p, scheduled::in_flight deltas,
                                    std::span<const scheduled::payload> partials) override;
    result<void> absorb(const scheduled::phase_deltas& deltas) override;
    result<scheduled::payload> judge(std::uint64_t number, scheduled::in_flight deltas,
                                     std::span<const scheduled::payload> partials) override;
    result<scheduled::standing> conclude(std::uint64_t number,
                                         std::span<const scheduled::payload> judgements) override;
    std::string describe(const scheduled::phase& p) const override;
    result<scheduled::saved_part> save() const override;
    result<void> load(const scheduled::saved_part& saved) override;

  private:
    result<scheduled::payload> pull_moments(std::span<const scheduled::payload> partials);
    void begin(const rating_moments& all);

    memory_pool& memory_;
    const std::uint64_t seed_;
    const coordinate_rows form_;
    const coordinate_order order_;
    const std::vector<scheduled::number_range> sets_;
    const scheduled::number_range own_;
    std::vector<float> items_; // rows of the own items
    rating_moments all_;       // of all ratings, when they are known
    progress progress_;
};

} // namespace troupe::factorization

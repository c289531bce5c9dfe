// The scheduler part of factorization by sgd: adds up what the turns of a sweep report, and tells workers the mean and the
// spread of all ratings. Phases have no content.
//
// Threads, ownership, errors: as scheduled::scheduler_part says. errc::numeric when the factors have grown without bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "actors/scheduled/program.hpp"
#include "apps/factorization/rating_level.hpp"
#include "apps/factorization/settings.hpp"
#include "apps/factorization/sweep_sums.hpp"

namespace troupe::factorization {

class rotating_items final : public scheduled::scheduler_part {
  public:
    rotating_items(const scheduled::scheduler_site& site, const factorization_settings& settings);

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

  private:
    std::string advice() const;

    memory_pool& memory_;
    const factorization_settings settings_;
    const scheduled::rotation ring_;
    sweep_sums sums_; // of the sweep that is under way
    rating_level level_;
    progress progress_;
};

} // namespace troupe::factorization

// The scheduler part of the program "lda": the topics' totals, exact at every probe, and the likelihood.
//
// Threads, ownership, errors: as scheduled::scheduler_part says. errc::protocol if the totals are not those of the counts.
#pragma once

#include "actors/scheduled/program.hpp"
#include "apps/lda/settings.hpp"

namespace troupe::lda {

struct scheduler_options {
    memory_pool* memory = nullptr; // outlives the part
    lda_settings settings;
    scheduled::rotation ring;
    std::uint64_t words = 0; // of the vocabulary
};
scheduler_options options_of(const scheduled::scheduler_site& site, const lda_settings& settings);

class lda_scheduler final : public scheduled::scheduler_part {
  public:
    explicit lda_scheduler(scheduler_options options)
        : options_{options}, totals_(options_.settings.topics) {}

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

    std::span<const std::int64_t> totals() const noexcept { return totals_; }

  private:
    result<void> check_totals(std::span<const std::int64_t> blocks, std::int64_t tokens) const;

    scheduler_options options_;
    std::vector<std::int64_t> totals_; // of topics
    double likelihood_ = 0;            // of the last probe
    std::int64_t tokens_ = 0;
    std::int64_t sweeps_ = 0; // whose probes are concluded
};

// State that a scheduler has saved, for the result.
struct saved_standing {
    std::vector<std::int64_t> totals;
    double likelihood = 0;
    std::int64_t tokens = 0;
    std::int64_t sweeps = 0;
};
result<saved_standing> read_standing(const scheduled::saved_part& saved);

} // namespace troupe::lda

// The topics' totals at a worker, which all workers change: it computes with what the scheduler has told and what it has
// changed itself since. A turn's changes are this worker's at once; when the scheduler tells what all workers changed in
// that turn, its own part is there already.
//
//     totals.begin();                                            // a turn
//     ... totals.counts().change(topic, 1) ...
//     auto changes = totals.end(phase);                          // for the scheduler
//     totals.apply(phase, changes_of_all);                       // some turns later, in order
//
// Threads: one at a time.
#pragma once

#include <deque>

#include "actors/scheduled/program.hpp"
#include "apps/lda/topic_totals.hpp"

namespace troupe::lda {

class shared_totals {
  public:
    shared_totals(std::uint32_t topics, double beta_words) : totals_{topics, beta_words} {}

    topic_totals& counts() noexcept { return totals_; }
    const topic_totals& counts() const noexcept { return totals_; }

    void begin();
    std::vector<std::int64_t> end(std::uint64_t phase);
    // errc::protocol unless `phase` is the first whose own changes have not been told.
    result<void> apply(std::uint64_t phase, std::span<const std::int64_t> changes);

    // ---- as they are saved ----
    // The phases whose changes have not been told, and what this worker changed in each of them, one after the other.
    std::vector<std::int64_t> phases() const;
    std::vector<std::int64_t> own() const;
    result<void> load(std::span<const std::int64_t> counts, std::span<const std::int64_t> phases,
                      std::span<const std::int64_t> own);

  private:
    struct turn_changes {
        std::uint64_t phase = 0;
        std::vector<std::int64_t> own;
    };

    topic_totals totals_;
    std::vector<std::int64_t> before_; // this turn
    std::deque<turn_changes> untold_;
};

} // namespace troupe::lda

// The worker part of the program "lda": some documents, the topic of each of their tokens, and the counts of topics in
// them.
//
// In the first sweep the tokens of a block's words get topics at random, in later ones they are drawn anew, given all
// others. A turn's random numbers depend on the run's seed, the worker, the turn and the word alone.
//
// After the last turn of a block in a sweep nobody changes it until the sweep's probe, so that the worker which has that
// turn computes the block's part of the likelihood, and the sums of its counts, with which the scheduler compares the
// totals.
//
// Threads, ownership, errors: as scheduled::worker_part says. errc::data for data that are no counts.
#pragma once

#include <optional>

#include "actors/scheduled/program.hpp"
#include "apps/lda/block_rows.hpp"
#include "apps/lda/likelihood.hpp"
#include "apps/lda/sampled_documents.hpp"
#include "apps/lda/settings.hpp"
#include "apps/lda/shared_totals.hpp"
#include "apps/lda/word_tokens.hpp"

namespace troupe::lda {

struct worker_options {
    memory_pool* memory = nullptr; // outlives the part
    lda_settings settings;
    scheduled::rotation ring;
    std::uint64_t seed = 0;
    std::uint32_t worker = 0;
    std::uint64_t documents = 0; // of this worker
    std::uint64_t words = 0;     // of the vocabulary
    std::vector<scheduled::number_range> blocks;
};
worker_options options_of(const scheduled::worker_site& site, const lda_settings& settings);

class lda_worker final : public scheduled::worker_part {
  public:
    explicit lda_worker(worker_options options);

    result<void> take_data(const scheduled::payload& piece) override;
    result<void> data_is_complete() override;
    result<void> apply(const scheduled::phase_deltas& deltas) override;
    result<scheduled::payload> push(const scheduled::phase& p, compute_context&) override;
    result<scheduled::payload> probe(const scheduled::phase& p, std::uint32_t scheduler,
                                     compute_context&) override;
    result<scheduled::payload> make_block(std::uint32_t block) override;
    result<scheduled::payload> turn(const scheduled::phase& p, scheduled::held_block& block,
                                    compute_context&) override;
    // "block 3 of 8, 52417 tokens"; blocks count from 0, as in the plan.
    std::string describe(const scheduled::phase& p) const override;
    result<scheduled::saved_part> save() const override;
    result<void> load(const scheduled::saved_part& saved) override;

    // ---- for tests ----
    const word_tokens& tokens() const { return *tokens_; }
    const sampled_documents& documents() const { return *documents_; }

  private:
    // Sums of the blocks whose last turn in this sweep was here.
    struct ended_blocks {
        double likelihood = 0;
        std::vector<std::int64_t> totals; // of topics
    };
    struct computed_turn {
        std::uint32_t block = 0;
        std::uint64_t tokens = 0;
    };

    result<void> compute(std::uint64_t word, std::uint64_t turn);
    result<void> start(const tokens_of_word& tokens, random_stream& random);
    result<void> load_topics(const scheduled::saved_part& saved);

    worker_options options_;
    std::optional<token_builder> builder_; // while data arrives
    std::optional<word_tokens> tokens_;
    std::unique_ptr<sampled_documents> documents_;
    shared_totals totals_;
    word_row row_;
    log_gamma_ratio beta_, alpha_, alpha_topics_;
    ended_blocks ended_;
    computed_turn last_turn_; // for inspectors; not saved
};

} // namespace troupe::lda

// The documents of a worker as one of the samplers needs them: exact_sampler.hpp or metropolis_sampler.hpp.
//
// Threads: one at a time. Errors: as the samplers say; errc::protocol for what was saved of other documents.
#pragma once

#include <memory>

#include "apps/lda/likelihood.hpp"
#include "apps/lda/saved_topics.hpp"
#include "apps/lda/settings.hpp"
#include "apps/lda/topic_totals.hpp"
#include "apps/lda/word_row.hpp"
#include "apps/lda/word_tokens.hpp"
#include "schemas/base/random.hpp"

namespace troupe::lda {

class sampled_documents {
  public:
    virtual ~sampled_documents() = default;

    // A token that had no topic has one, in `tokens`, too. The token by its number among those of the worker. False if all
    // tokens of the document have one already.
    virtual bool start(std::uint64_t token, std::size_t document, std::uint32_t topic) = 0;
    // Draws the topics of a word's tokens anew. All counts include them, before and after.
    virtual result<void> sample(const tokens_of_word& tokens, word_row& row, topic_totals& totals,
                                random_stream& random) = 0;

    virtual std::int32_t count(std::size_t document, std::uint32_t topic) const = 0;
    // The documents' part of the likelihood.
    virtual double likelihood(const log_gamma_ratio& alpha,
                              const log_gamma_ratio& alpha_topics) const = 0;

    // Saves what does not follow from the topics of the tokens.
    virtual void save(scheduled::state_writer& write) const = 0;
    // Instead of what they are; `tokens` have the topics that were saved.
    virtual result<void> load(const scheduled::saved_part& saved, const word_tokens& tokens) = 0;
};

// `tokens` have no topics. errc::exhausted if there is not enough memory.
result<std::unique_ptr<sampled_documents>>
sampled_documents_of(memory_pool& memory, const lda_settings& settings, const word_tokens& tokens);

} // namespace troupe::lda

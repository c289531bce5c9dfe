// Collapsed Gibbs sampling of topics, one word after the other: each token's topic is drawn from its exact conditional
// distribution given the topics of all other tokens,
//
//     p(k) ~ (n_dk + alpha) phi_k,    phi_k = (n_wk + beta) / (s_k + beta V)
//
// where the token itself is not counted. phi of the word is kept for all topics, and two of them change for each token whose
// topic changes. Where documents have a count for each topic (document_counts.hpp), a draw adds up the weights of all of
// them. Where they have a list (document_topics.hpp), it goes through the topics of the document first, of which there are
// few; what is left is alpha times the sum of phi, in which sums over groups of topics show where to look.
//
// phi is float32, and probabilities are as exact as that. The bits do not depend on the instruction set.
//
// Threads: one at a time. Source: Griffiths and Steyvers, "Finding scientific topics", PNAS 2004; the order of words and the
// two parts of the draw are those of Yu et al., "A scalable asynchronous distributed algorithm for topic modeling" (F+LDA),
// WWW 2015, whose tree has groups here.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/lda/document_counts.hpp"
#include "apps/lda/document_topics.hpp"
#include "apps/lda/exact_loops.hpp"
#include "apps/lda/prior.hpp"
#include "apps/lda/topic_totals.hpp"
#include "apps/lda/word_row.hpp"
#include "apps/lda/word_tokens.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/random.hpp"

namespace troupe::lda {

class exact_sampler {
  public:
    exact_sampler(std::uint32_t topics, const prior& p,
                  const exact_loops& loops = fastest_exact_loops());

    // Draw the topics of a word's tokens anew. All counts include these tokens, before and after. errc::protocol if the row
    // or a document has fewer tokens of a topic than there are here; the counts are of no use then.
    result<void> sample(const tokens_of_word& tokens, word_row& row, document_counts& documents,
                        topic_totals& totals, random_stream& random);
    result<void> sample(const tokens_of_word& tokens, word_row& row, document_topics& documents,
                        topic_totals& totals, random_stream& random);

  private:
    template <class Documents>
    result<void> sample_by(const tokens_of_word& tokens, word_row& row, Documents& documents,
                           topic_totals& totals, random_stream& random, bool needs_sums);

    std::uint32_t topics_;
    prior prior_;
    const exact_loops& loops_;
    std::vector<float> phi_, running_;       // of whole groups
    std::vector<double> groups_, stretches_; // sums of phi
    std::vector<std::uint64_t> random_;      // of some tokens
};

} // namespace troupe::lda

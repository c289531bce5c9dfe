// Collapsed Gibbs sampling of topics, one word after the other: each token's topic is drawn from its exact conditional
// distribution given the topics of all other tokens,
//
//     p(k) ~ (n_dk + alpha) phi_k,    phi_k = (n_wk + beta) / (s_k + beta V)
//
// where the token itself is not counted. phi of the word is kept for all topics, with its sums over groups of 16, and two
// of them change for each token whose topic changes. A draw goes through the topics of the document first, of which there
// are few; what is left is alpha times the sum of phi, in which the groups' sums show where to look.
//
// phi is float32, and probabilities are as exact as that. The bits do not depend on the instruction set.
//
// Threads: one at a time. Source: Griffiths and Steyvers, "Finding scientific topics", PNAS 2004; the order of words and the
// two parts of the draw are those of Yu et al., "A scalable asynchronous distributed algorithm for topic modeling" (F+LDA),
// WWW 2015, whose tree has groups here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/lda/document_topics.hpp"
#include "apps/lda/prior.hpp"
#include "apps/lda/topic_totals.hpp"
#include "apps/lda/word_row.hpp"
#include "apps/lda/word_tokens.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/random.hpp"

namespace troupe::lda {

class exact_sampler {
  public:
    exact_sampler(std::uint32_t topics, const prior& p);

    // Draws the topics of a word's tokens anew. All counts include these tokens, before and after. errc::protocol if the row
    // has fewer tokens of a topic than there are here.
    result<void> sample(const tokens_of_word& tokens, word_row& row, document_topics& documents,
                        topic_totals& totals, random_stream& random);

  private:
    static constexpr std::size_t group = 16;

    struct weighed {
        float sum = 0;
        std::size_t place_of_old = 0; // among the document's topics
    };

    float phi_of(std::int32_t count, float inverse) const noexcept {
        return (static_cast<float>(count) + beta_) * inverse;
    }
    void begin(const word_row& row, const topic_totals& totals);
    float group_sum(std::size_t g) const noexcept;
    void set(std::uint32_t topic, float phi) noexcept;
    std::uint32_t find(double rest, std::uint32_t changed, double change) const noexcept;
    weighed weigh(std::span<const topic_count> own, std::uint32_t old) noexcept;

    std::uint32_t topics_;
    double alpha_;
    float beta_;
    std::vector<float> phi_;     // of whole groups, zeros at the end
    std::vector<float> sums_;    // of groups
    double sum_ = 0;             // of phi
    std::vector<float> weights_; // of a document's topics
};

} // namespace troupe::lda

// Sampling of topics by Metropolis-Hastings steps, one word after the other: instead of a draw from all topics, a token is
// offered some of them, which it takes with a probability that leaves the distribution as it is (exact_sampler.hpp has it).
// The time of a token does not depend on the number of topics.
//
// Offers come in pairs. The one from the document is k with probability ~ n_dk + alpha: the topic of another token of the
// document, or any. It is taken with min(1, phi_new / phi_old). The one from the word is k with probability ~ n_wk + beta:
// the topic of another token of the word, here or at another worker, or any. It is taken with
//
//     min(1, (n_dk + alpha of new) (s_k + beta V of old) / (the same of old and new)).
//
// In all of them the token itself is not counted, and all counts are those of the moment: each step leaves the distribution
// given the other tokens as it is. (Offers by counts as they were when the word's turn began do not, with any probability
// of taking them: those depend on what the other tokens had before.) What is drawn for an offer from tokens is a place,
// whose topic is looked at when it is weighed. So it is drawn some tokens ahead, and what it needs of the document is there
// when its turn comes. Tokens of other workers do not change during a word's turn, and are drawn from by an alias table. Of
// a document that is shorter than there are topics the counts are found by going through its tokens: shorter ones are
// faster.
//
// Threads: one at a time. Source: the pairs are LightLDA's, Yuan et al., WWW 2015, offers by places WarpLDA's, Chen et al.,
// VLDB 2016; that the token itself is not offered, and counts are those of the moment, is Troupe's.
#pragma once

#include <vector>

#include "apps/lda/alias_table.hpp"
#include "apps/lda/document_order.hpp"
#include "apps/lda/prior.hpp"
#include "apps/lda/topic_totals.hpp"
#include "apps/lda/word_row.hpp"
#include "apps/lda/word_tokens.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/random.hpp"

namespace troupe::lda {

class metropolis_sampler {
  public:
    // `proposals`: pairs of offers for each token.
    metropolis_sampler(std::uint32_t topics, const prior& p, std::uint32_t proposals);

    // Draws the topics of a word's tokens anew. All counts include these tokens, before and after. errc::protocol if the row
    // has fewer tokens of a topic than there are here.
    result<void> sample(const tokens_of_word& tokens, word_row& row, document_order& documents,
                        topic_totals& totals, random_stream& random);

  private:
    // Draws of a pair of offers: a place in the document and one among the word's tokens, whose topics they are; a
    // topic with no_place.
    struct offers {
        std::uint64_t near_place = 0, far_place = 0;
        std::uint32_t near = 0, far = 0;
        std::uint32_t near_share =
            0; // in 2^-32: both are taken above such shares of their probabilities
        double far_share = 0;
    };
    static constexpr std::uint64_t no_place = UINT64_MAX;
    // Tokens: for so many offers are drawn ahead.
    static constexpr std::size_t ahead = 8;
    enum class outcome : std::uint8_t { sampled, no_topic, too_few };

    outcome begin(const tokens_of_word& tokens, const word_row& row);
    std::span<offers> drawn_for(std::size_t token) noexcept {
        return {drawn_.data() + token % ahead * proposals_, proposals_};
    }
    void draw(const tokens_of_word& tokens, std::size_t i, const document_order& documents,
              random_stream& random) noexcept;
    void draw_of_word(offers& o, const tokens_of_word& tokens, std::size_t i,
                      random_stream& random) const noexcept;
    outcome step(const tokens_of_word& tokens, std::size_t i, word_row& row,
                 document_order& documents, topic_totals& totals) noexcept;
    std::uint32_t any(double share) const noexcept;

    std::uint32_t topics_;
    float alpha_, beta_;
    double alpha_all_, beta_all_; // times the topics
    std::uint32_t proposals_;
    std::vector<offers> drawn_; // of the next tokens
    // The word's tokens of other workers: all of them, the topics that they have, and how many have each.
    double others_ = 0;
    std::vector<std::uint32_t> present_;
    std::vector<std::int32_t> weights_;
    alias_table table_;
    std::vector<std::int32_t> counts_; // of all topics; 0 but in begin
};

} // namespace troupe::lda

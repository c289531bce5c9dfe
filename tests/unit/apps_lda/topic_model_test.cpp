#include <cmath>
#include <numeric>

#include <boost/test/unit_test.hpp>

#include "apps/lda/topic_model.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

using numbers = std::vector<std::int32_t>;

// Two topics of two words each: 0 and 1, 2 and 3.
topic_model two_topics() {
    topic_model model;
    model.priors = {0.1, 0.01};
    model.topics = 2;
    model.words = 4;
    model.counts = {100, 0, 300, 0, 0, 200, 0, 200};
    model.totals = {400, 400};
    return model;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lda_topic_model)

BOOST_AUTO_TEST_CASE(shares_of_topics_are_those_of_a_document_whose_words_are_of_one_topic_each) {
    const topic_model model = two_topics();
    const numbers words{0, 1, 2}, counts{10, 10, 10};
    const auto shares = infer(model, {words, counts}, {});
    BOOST_TEST(shares.size() == 2u);
    BOOST_TEST(shares[0] == 20.1 / 30.2, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shares[0] + shares[1] == 1, boost::test_tools::tolerance(1e-12));
    BOOST_TEST((infer(model, {words, counts}, {}) == shares));
    // Those that the model does not know, and counts of 0, say nothing.
    const numbers others{0, 1, 2, 4, -1, 3}, more{10, 10, 10, 7, 5, 0};
    BOOST_TEST((infer(model, {others, more}, {}) == shares));
}

BOOST_AUTO_TEST_CASE(a_document_without_words_has_the_shares_of_the_prior) {
    for (const std::uint32_t iterations : {0u, 1u, 50u})
        BOOST_TEST(infer(two_topics(), {}, {iterations, 1})[0] == 0.5,
                   boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(shares_are_means_over_topics_by_enumeration) {
    topic_model model = two_topics();
    model.counts = {100, 50, 300, 350, 60, 200, 340, 200};
    model.totals = {800, 800};
    const numbers words{0, 2}, counts{1, 1};
    double mean = 0, all = 0;
    for (std::uint32_t a = 0; a < 2; ++a)
        for (std::uint32_t b = 0; b < 2; ++b) {
            const double p = model.probability(0, a) * model.probability(2, b) *
                             (a == b ? 1.1 * 0.1 : 0.1 * 0.1);
            all += p;
            mean += p * ((a == 0) + (b == 0) + 0.1) / 2.2;
        }
    BOOST_TEST(infer(model, {words, counts}, {200000, 5})[0] == mean / all,
               boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(perplexity_is_that_of_the_words_left_over) {
    const topic_model model = two_topics();
    // The topic is known from the first half: words 2 and 3 have a probability of a half.
    const numbers words{2, 3}, counts{50, 50}, single{0}, one{1};
    const std::vector<document_words> documents{{words, counts}, {single, one}, {}};
    BOOST_TEST(perplexity(model, documents, {}) == 2, boost::test_tools::tolerance(0.02));
    BOOST_TEST(perplexity(model, std::span{documents}.subspan(1), {}) == 0);
    topic_model flat = model;
    flat.counts.assign(8, 0);
    flat.totals.assign(2, 0);
    BOOST_TEST(perplexity(flat, documents, {}) == 4, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()

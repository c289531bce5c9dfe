// Draws of topics against their distributions.
#include <cmath>

#include <boost/test/unit_test.hpp>

#include "apps/lda/exact_sampler.hpp"
#include "apps/lda/lda_limits.hpp"
#include "tests/unit/apps_lda/lda_runs.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

memory_pool& memory() {
    static memory_pool pool{64u << 20};
    return pool;
}

// A token of a word, among others of the word and of its document.
struct one_token {
    std::uint32_t topics;
    prior priors{0.3, 0.05};
    document_topics documents;
    topic_totals totals;
    word_row row;
    std::vector<std::int32_t> document{0};
    std::vector<std::uint16_t> topic{2};
    std::vector<double> probabilities;

    explicit one_token(std::uint32_t k, std::uint32_t others = 40)
        : topics{k},
          documents{
              document_topics::make(memory(), std::vector<std::uint32_t>{others + 1}, k).value()},
          totals{k, 0.05 * 30}, row{k} {
        random_stream random{7};
        std::vector<double> in_document(k);
        for (std::uint32_t i = 0; i < others; ++i) {
            const auto t = static_cast<std::uint32_t>(random.below(k) * random.below(k) / k);
            documents.add(0, t);
            ++in_document[t];
        }
        for (std::uint32_t i = 0; i < 3 * k; ++i)
            row.add(static_cast<std::uint32_t>(random.below(k) * random.below(k) / k));
        for (std::uint32_t t = 0; t < k; ++t)
            totals.change(t, row.counts()[t] + static_cast<std::int64_t>(random.below(300)));
        for (std::uint32_t t = 0; t < k; ++t)
            probabilities.push_back((in_document[t] + priors.alpha) *
                                    (row.counts()[t] + priors.beta) /
                                    (static_cast<double>(totals.counts()[t]) + priors.beta * 30));
        documents.add(0, topic[0]);
        row.add(topic[0]);
        totals.change(topic[0], 1);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(lda_exact_sampler)

BOOST_AUTO_TEST_CASE(a_topic_is_drawn_from_its_distribution_given_all_others) {
    for (const std::uint32_t topics : {3u, 16u, 37u, 500u})
        BOOST_TEST_CONTEXT(topics << " topics") {
            one_token t{topics};
            exact_sampler sampler{topics, t.priors};
            random_stream random{3};
            std::vector<std::uint64_t> seen(topics);
            for (int i = 0; i < 400000; ++i) {
                BOOST_REQUIRE(
                    sampler.sample({t.document, t.topic}, t.row, t.documents, t.totals, random)
                        .ok());
                ++seen[t.topic[0]];
            }
            BOOST_TEST(std::fabs(test::surprise(seen, t.probabilities)) < 4);
            BOOST_TEST(t.documents.count(0, t.topic[0]) >= 1);
        }
}

BOOST_AUTO_TEST_CASE(topics_of_a_small_corpus_are_as_often_together_as_by_enumeration) {
    // Documents 0 0 1, 1 1, 0 2; two topics: 2^7 states.
    const std::vector<std::vector<std::int32_t>> of_words{{0, 0, 2}, {0, 1, 1}, {2}};
    const prior p{0.4, 0.3};
    constexpr std::size_t tokens = 7;
    const auto token = [&](std::size_t state) {
        std::vector<test::seen_token> all;
        for (std::size_t w = 0; w < 3; ++w)
            for (const std::int32_t d : of_words[w])
                all.push_back({static_cast<std::size_t>(d), w,
                               static_cast<std::uint32_t>(state >> all.size() & 1)});
        return all;
    };
    std::vector<double> probabilities;
    for (std::size_t state = 0; state < 1u << tokens; ++state)
        probabilities.push_back(std::exp(test::plain_likelihood(token(state), 3, 3, 2, p)));

    auto documents =
        document_topics::make(memory(), std::vector<std::uint32_t>{3, 2, 2}, 2).value();
    topic_totals totals{2, p.beta * 3};
    std::vector<word_row> rows(3, word_row{2});
    std::vector<std::vector<std::uint16_t>> topics;
    for (std::size_t w = 0; w < 3; ++w) {
        topics.emplace_back(of_words[w].size(), std::uint16_t{0});
        for (const std::int32_t d : of_words[w]) {
            documents.add(static_cast<std::size_t>(d), 0);
            rows[w].add(0);
            totals.change(0, 1);
        }
    }
    exact_sampler sampler{2, p};
    random_stream random{11};
    std::vector<std::uint64_t> seen(1u << tokens);
    for (int sweep = 0; sweep < 600000; ++sweep) {
        for (std::size_t w = 0; w < 3; ++w)
            BOOST_REQUIRE(
                sampler.sample({of_words[w], topics[w]}, rows[w], documents, totals, random).ok());
        if (sweep % 6 != 0)
            continue; // states that follow each other are alike
        std::size_t state = 0, at = 0;
        for (const auto& of_word : topics)
            for (const std::uint16_t t : of_word)
                state |= static_cast<std::size_t>(t) << at++;
        ++seen[state];
    }
    BOOST_TEST(std::fabs(test::surprise(seen, probabilities)) < 5);
}

BOOST_AUTO_TEST_CASE(a_row_with_fewer_tokens_than_there_are_is_refused) {
    one_token t{16};
    word_row other{16};
    exact_sampler sampler{16, t.priors};
    random_stream random{3};
    const auto sampled =
        sampler.sample({t.document, t.topic}, other, t.documents, t.totals, random);
    BOOST_REQUIRE(!sampled.ok());
    BOOST_TEST((sampled.failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_SUITE_END()

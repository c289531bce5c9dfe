// Metropolis-Hastings steps against the distributions that they must leave as they are.
#include <cmath>

#include <boost/test/unit_test.hpp>

#include "apps/lda/metropolis_sampler.hpp"
#include "tests/unit/apps_lda/lda_runs.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

memory_pool& memory() {
    static memory_pool pool{64u << 20};
    return pool;
}

word_tokens tokens_of(const std::vector<std::vector<std::int32_t>>& documents,
                      std::uint64_t words) {
    const test::matrix_rows rows = test::rows_of(documents, words);
    token_builder builder{memory(), rows.rows(), words};
    BOOST_REQUIRE(builder
                      .append(scheduled::payload_of(memory(), rows.starts, rows.indices,
                                                    rows.values, rows.targets)
                                  .value())
                      .ok());
    return builder.finish().value();
}

// As after a turn; the topics that it has had are forgotten.
void pack_again(word_row& row) {
    std::vector<std::int32_t> packed;
    row.pack(packed, [](std::uint32_t, std::int32_t) {});
    BOOST_REQUIRE(row.unpack(packed).ok());
}

// The tokens of documents of two words: so many of the first one, which is sampled, and so many of the second one.
struct two_words {
    std::uint32_t topics;
    prior priors{0.3, 0.05};
    word_tokens tokens;
    document_order documents;
    topic_totals totals;
    word_row row;

    two_words(std::uint32_t k, const std::vector<std::int32_t>& first,
              const std::vector<std::int32_t>& second)
        : topics{k}, tokens{built(first, second)},
          documents{document_order::make(memory(), tokens, k).value()}, totals{k, 0.05 * 30},
          row{k} {
        random_stream random{7};
        for (std::size_t word = 0; word < 2; ++word) {
            const tokens_of_word of = tokens.of(word);
            for (std::size_t i = 0; i < of.topics.size(); ++i)
                assign(word, i, static_cast<std::uint32_t>(random.below(k) * random.below(k) / k));
        }
        for (std::uint32_t i = 0; i < 3 * k; ++i) { // tokens of others
            const auto t = static_cast<std::uint32_t>(random.below(k) * random.below(k) / k);
            row.add(t);
            totals.change(t, 1 + static_cast<std::int64_t>(random.below(100)));
        }
    }
    static word_tokens built(const std::vector<std::int32_t>& first,
                             const std::vector<std::int32_t>& second) {
        std::vector<std::vector<std::int32_t>> all(first.size());
        for (std::size_t d = 0; d < first.size(); ++d) {
            all[d].assign(static_cast<std::size_t>(first[d]), 0);
            all[d].insert(all[d].end(), static_cast<std::size_t>(second[d]), 1);
        }
        return tokens_of(all, 2);
    }
    void assign(std::size_t word, std::size_t i, std::uint32_t topic) {
        const tokens_of_word of = tokens.of(word);
        of.topics[i] = static_cast<std::uint16_t>(topic);
        documents.set(static_cast<std::size_t>(of.documents[i]), documents.place(of.first + i),
                      topic);
        totals.change(topic, 1);
        if (word == 0)
            row.add(topic);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(lda_metropolis_sampler)

BOOST_AUTO_TEST_CASE(a_topic_is_as_often_as_its_distribution_given_all_others_says) {
    for (const std::uint32_t topics : {3u, 40u})
        for (const std::uint32_t proposals : {1u, 3u})
            BOOST_TEST_CONTEXT(topics << " topics, " << proposals << " proposals") {
                // In a short document it matters most that the token itself is not counted.
                two_words t{topics, {1}, {proposals == 1 ? 30 : 2}};
                const tokens_of_word of = t.tokens.of(0);
                const std::uint32_t old = of.topics[0];
                std::vector<double> probabilities;
                for (std::uint32_t k = 0; k < topics; ++k) {
                    const double own = k == old ? 1 : 0;
                    probabilities.push_back(
                        (t.documents.count(0, k, k).first - own + t.priors.alpha) *
                        (t.row.counts()[k] - own + t.priors.beta) /
                        (static_cast<double>(t.totals.counts()[k]) - own + t.priors.beta * 30));
                }
                metropolis_sampler sampler{topics, t.priors, proposals};
                random_stream random{3};
                std::vector<std::uint64_t> seen(topics);
                for (int i = 0; i < 1000000; ++i) {
                    BOOST_REQUIRE(sampler.sample(of, t.row, t.documents, t.totals, random).ok());
                    if (i % 20 != 0)
                        continue; // those that follow each other are alike
                    ++seen[of.topics[0]];
                    pack_again(t.row);
                }
                BOOST_TEST(std::fabs(test::surprise(seen, probabilities)) < 5);
            }
}

BOOST_AUTO_TEST_CASE(topics_of_a_small_corpus_are_as_often_together_as_by_enumeration) {
    // Two topics: 2^8 states. The words of another worker's document keep their topics, if there is one.
    const std::vector<std::vector<std::int32_t>> of_documents{{0, 0, 1}, {0, 0, 1}, {0, 1}};
    const std::vector<test::seen_token> of_other{{3, 0, 0}, {3, 0, 1}, {3, 0, 1}, {3, 1, 1}};
    const prior p{0.3, 0.1};
    for (const bool has_other : {false, true})
        for (const std::uint32_t proposals : {1u, 2u})
            BOOST_TEST_CONTEXT((has_other ? "two workers, " : "one worker, ")
                               << proposals << " proposals") {
                word_tokens tokens = tokens_of(of_documents, 2);
                auto documents = document_order::make(memory(), tokens, 2).value();
                topic_totals totals{2, p.beta * 2};
                std::vector<word_row> rows(2, word_row{2});
                std::vector<test::seen_token> all;
                const auto count = [&](std::size_t word, std::uint32_t topic) {
                    rows[word].add(topic);
                    totals.change(topic, 1);
                };
                for (std::size_t word = 0; word < 2; ++word) {
                    const tokens_of_word own = tokens.of(word);
                    for (std::size_t i = 0; i < own.topics.size(); ++i) {
                        const auto document = static_cast<std::size_t>(own.documents[i]);
                        own.topics[i] = 0;
                        documents.set(document, documents.place(own.first + i), 0);
                        count(word, 0);
                        all.push_back({document, word, 0});
                    }
                }
                if (has_other)
                    for (const test::seen_token& t : of_other) {
                        count(t.word, t.topic);
                        all.push_back(t);
                    }
                std::vector<double> probabilities;
                for (std::size_t state = 0; state < 1u << tokens.tokens(); ++state) {
                    for (std::size_t i = 0; i < tokens.tokens(); ++i)
                        all[i].topic = state >> i & 1;
                    probabilities.push_back(std::exp(test::plain_likelihood(all, 4, 2, 2, p)));
                }
                metropolis_sampler sampler{2, p, proposals};
                random_stream random{11};
                std::vector<std::uint64_t> seen(probabilities.size());
                for (int sweep = 0; sweep < 1200000; ++sweep) {
                    for (std::size_t word = 0; word < 2; ++word) {
                        BOOST_REQUIRE(
                            sampler.sample(tokens.of(word), rows[word], documents, totals, random)
                                .ok());
                        pack_again(rows[word]);
                    }
                    if (sweep % 12 != 0)
                        continue; // states that follow each other are alike
                    std::size_t state = 0;
                    for (std::size_t i = 0; i < tokens.tokens(); ++i)
                        state |= std::size_t{tokens.topics()[i]} << i;
                    ++seen[state];
                }
                BOOST_TEST(std::fabs(test::surprise(seen, probabilities)) < 5);
            }
}

BOOST_AUTO_TEST_CASE(counts_stay_those_of_the_tokens) {
    two_words t{50, {3, 0, 7, 40}, {0, 9, 100, 10}};
    std::vector<std::int64_t> others(50), of_row(50);
    const auto count = [&](std::vector<std::int64_t>& to, std::int64_t by) {
        for (const std::uint16_t k : t.tokens.topics())
            to[k] += by;
    };
    others.assign(t.totals.counts().begin(), t.totals.counts().end());
    count(others, -1);
    metropolis_sampler sampler{50, t.priors, 2};
    random_stream random{3};
    for (int sweep = 0; sweep < 20; ++sweep)
        BOOST_REQUIRE(sampler.sample(t.tokens.of(0), t.row, t.documents, t.totals, random).ok());
    count(others, 1);
    BOOST_TEST(std::ranges::equal(t.totals.counts(), others));
    for (std::uint64_t i = 0; i < t.tokens.tokens(); ++i)
        BOOST_TEST(t.documents.topic(t.documents.place(i)) == t.tokens.topics()[i]);
    // The last two have at least as many tokens as there are topics, and keep their counts.
    for (std::size_t d = 0; d < 4; ++d) {
        const auto own = t.documents.of(d);
        for (std::uint32_t k = 0; k < 50; ++k) {
            const auto counted = t.documents.count(d, k, (k + 1) % 50);
            BOOST_TEST(counted.first == std::ranges::count(own, k));
            BOOST_TEST(counted.second == std::ranges::count(own, (k + 1) % 50));
        }
    }
}

BOOST_AUTO_TEST_CASE(tokens_of_long_documents_are_counted) {
    two_words t{2, {100000}, {7}};
    for (std::size_t i = 0; i < 7; ++i)
        t.assign(1, i, 1);
    std::uint32_t ones = 0;
    for (std::size_t i = 0; i < 100000; ++i)
        ones += t.tokens.of(0).topics[i] == 1 ? 1 : 0;
    const auto counts = t.documents.count(0, 1, 0);
    BOOST_TEST(counts.first == ones + 7);
    BOOST_TEST(counts.second == 100000 - ones);
}

BOOST_AUTO_TEST_CASE(alias_tables_draw_by_the_weights) {
    alias_table table;
    random_stream random{5};
    for (const std::vector<std::int32_t>& weights : {std::vector<std::int32_t>{7},
                                                     {1, 1},
                                                     {9, 1, 5, 30},
                                                     {1, 2, 3, 4, 1000},
                                                     {5, 5, 5, 1, 1, 900, 33}}) {
        table.build(weights);
        std::vector<std::uint64_t> seen(weights.size());
        for (int i = 0; i < 200000; ++i)
            ++seen[table.draw(random.next())];
        if (weights.size() > 1)
            BOOST_TEST(std::fabs(test::surprise(seen, {weights.begin(), weights.end()})) < 4);
        else
            BOOST_TEST(seen[0] == 200000u);
    }
}

BOOST_AUTO_TEST_CASE(a_row_with_fewer_tokens_than_there_are_is_refused) {
    two_words t{16, {1}, {5}};
    word_row other{16};
    metropolis_sampler sampler{16, t.priors, 1};
    random_stream random{3};
    const auto sampled = sampler.sample(t.tokens.of(0), other, t.documents, t.totals, random);
    BOOST_REQUIRE(!sampled.ok());
    BOOST_TEST((sampled.failure().code() == errc::protocol));
    BOOST_TEST(sampler.sample(t.tokens.of(0), t.row, t.documents, t.totals, random).ok());
}

BOOST_AUTO_TEST_SUITE_END()

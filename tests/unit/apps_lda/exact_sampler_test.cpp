// Draws of topics against their distributions.
#include <algorithm>
#include <cmath>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "apps/lda/exact_sampler.hpp"
#include "kernels/cpu/instruction_set.hpp"
#include "tests/unit/apps_lda/lda_runs.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

memory_pool& memory() {
    static memory_pool pool{64u << 20};
    return pool;
}

// A token of a word, among others of the word and of its document, which has a list of its topics or a count for each.
template <class Documents>
struct one_token {
    std::uint32_t topics;
    prior priors{0.3, 0.05};
    Documents documents;
    topic_totals totals;
    word_row row;
    std::vector<std::int32_t> document{0};
    std::vector<std::uint16_t> topic{2};
    std::vector<double> probabilities;

    explicit one_token(std::uint32_t k, std::uint32_t others = 40)
        : topics{k},
          documents{Documents::make(memory(), std::vector<std::uint32_t>{others + 1}, k).value()},
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

// The loops that this machine can run.
std::vector<const exact_loops*> all_loops() {
    std::vector<const exact_loops*> all{&exact_loops_baseline};
#if defined(__x86_64__)
    if (cpu::widest_instruction_set() >= cpu::instruction_set::avx2)
        all.push_back(&exact_loops_avx2);
    if (cpu::widest_instruction_set() >= cpu::instruction_set::avx512)
        all.push_back(&exact_loops_avx512);
#endif
    return all;
}

using kinds_of_documents = boost::mpl::list<document_counts, document_topics>;

} // namespace

BOOST_AUTO_TEST_SUITE(lda_exact_sampler)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_topic_is_drawn_from_its_distribution_given_all_others, Documents,
                              kinds_of_documents) {
    // One document has more tokens than 16 bits can count.
    for (const auto& [topics, others] :
         {std::pair{3u, 40u}, {16u, 40u}, {37u, 70000u}, {500u, 40u}, {500u, 900u}})
        BOOST_TEST_CONTEXT(topics << " topics, " << others << " other tokens") {
            one_token<Documents> t{topics, others};
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

BOOST_AUTO_TEST_CASE_TEMPLATE(topics_of_a_small_corpus_are_as_often_together_as_by_enumeration,
                              Documents, kinds_of_documents) {
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

    auto documents = Documents::make(memory(), std::vector<std::uint32_t>{3, 2, 2}, 2).value();
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

BOOST_AUTO_TEST_CASE_TEMPLATE(all_instruction_sets_draw_the_same_topics, Documents,
                              kinds_of_documents) {
    for (const std::uint32_t topics : {5u, 100u, 700u})
        BOOST_TEST_CONTEXT(topics << " topics") {
            std::vector<std::vector<std::uint16_t>> drawn;
            for (const exact_loops* loops : all_loops()) {
                // 30 documents, each with 60 tokens of the word and 200 others.
                const std::vector<std::uint32_t> sizes(30, 260);
                auto documents = Documents::make(memory(), sizes, topics).value();
                topic_totals totals{topics, 5};
                word_row row{topics};
                std::vector<std::int32_t> of;
                std::vector<std::uint16_t> own;
                random_stream random{5};
                for (std::int32_t d = 0; d < 30; ++d)
                    for (int i = 0; i < 260; ++i) {
                        const auto t = static_cast<std::uint32_t>(random.below(topics));
                        BOOST_REQUIRE(documents.add(static_cast<std::size_t>(d), t));
                        totals.change(t, 1);
                        if (i >= 60)
                            continue;
                        row.add(t);
                        of.push_back(d);
                        own.push_back(static_cast<std::uint16_t>(t));
                    }
                exact_sampler sampler{topics, prior{0.1, 0.01}, *loops};
                for (int sweep = 0; sweep < 5; ++sweep)
                    BOOST_REQUIRE(sampler.sample({of, own}, row, documents, totals, random).ok());
                std::vector<std::int32_t> counts(topics);
                for (const std::uint16_t t : own)
                    ++counts[t];
                BOOST_TEST(std::ranges::equal(row.counts(), counts));
                BOOST_TEST(row.nonzeros() ==
                           topics - static_cast<std::size_t>(std::ranges::count(counts, 0)));
                drawn.push_back(std::move(own));
            }
            for (const auto& other : drawn)
                BOOST_TEST((other == drawn.front()));
        }
}

BOOST_AUTO_TEST_CASE(all_instruction_sets_add_up_the_same) {
    constexpr std::uint32_t topics = 1000;
    std::vector<std::int32_t> counts(topics);
    std::vector<float> inverses(topics), phi(groups_of(topics) * topic_group);
    random_stream random{9};
    for (std::uint32_t k = 0; k < topics; ++k) {
        counts[k] = static_cast<std::int32_t>(random.below(1000));
        inverses[k] = static_cast<float>(random.uniform());
    }
    std::vector<std::vector<double>> sums;
    for (const exact_loops* loops : all_loops()) {
        std::vector<double> groups(groups_of(topics)), stretches(stretches_of(topics));
        word_view word{};
        word.topics = topics;
        word.beta = 0.01F;
        word.phi = phi.data();
        word.counts = counts.data();
        word.inverses = inverses.data();
        word.groups = groups.data();
        word.stretches = stretches.data();
        loops->begin(word);
        sums.push_back(groups);
        sums.back().insert(sums.back().end(), stretches.begin(), stretches.end());
        sums.back().push_back(word.all);
    }
    for (const auto& other : sums)
        BOOST_TEST((other == sums.front()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_row_or_document_with_fewer_tokens_than_there_are_is_refused,
                              Documents, kinds_of_documents) {
    one_token<Documents> t{16};
    const auto is_refused = [&](word_row& row, Documents& documents) {
        exact_sampler sampler{16, t.priors};
        random_stream random{3};
        const auto sampled =
            sampler.sample({t.document, t.topic}, row, documents, t.totals, random);
        return !sampled.ok() && sampled.failure().code() == errc::protocol;
    };
    word_row other{16};
    BOOST_TEST(is_refused(other, t.documents));
    auto empty = Documents::make(memory(), std::vector<std::uint32_t>{41}, 16).value();
    BOOST_TEST(is_refused(t.row, empty));
    t.topic[0] = 16;
    BOOST_TEST(is_refused(t.row, t.documents));
}

BOOST_AUTO_TEST_SUITE_END()

// Whole runs of lda, without actors.
#include <cmath>
#include <numeric>

#include <boost/test/unit_test.hpp>

#include "apps/lda/block_rows.hpp"
#include "apps/lda/lda_scheduler.hpp"
#include "tests/unit/apps_lda/lda_runs.hpp"

using namespace troupe;
using namespace troupe::lda;
using namespace troupe::test;

namespace {

// Counts of each word and topic at the end of a run.
std::vector<std::vector<std::int32_t>> counts_of(const driven_result& run, const matrix_rows& rows,
                                                 std::uint32_t topics) {
    std::vector<std::vector<std::int32_t>> all;
    const auto ranges = ranges_of(rows.columns, static_cast<std::uint32_t>(run.blocks.size()));
    for (std::size_t b = 0; b < run.blocks.size(); ++b) {
        const auto block = block_reader::open(run.blocks[b].content, ranges[b].count).value();
        word_row row{topics};
        for (std::size_t i = 0; i < block.words(); ++i) {
            BOOST_REQUIRE(row.unpack(block.row(i)).ok());
            all.emplace_back(row.counts().begin(), row.counts().end());
            std::vector<std::int32_t> unused;
            row.pack(unused, [](std::uint32_t, std::int32_t) {});
        }
    }
    return all;
}

// The mean of the likelihood over the last half of a run's sweeps, for each of some seeds: where it has come to.
std::vector<double> levels(lda_case c, const matrix_rows& rows) {
    std::vector<double> all;
    for (c.run.seed = 1; c.run.seed <= 8; ++c.run.seed) {
        const auto run = run_lda(c, rows);
        BOOST_REQUIRE(run.ok());
        const auto likelihood = numbers_of(*run, "likelihood");
        const auto half = std::ssize(likelihood) / 2;
        all.push_back(std::accumulate(likelihood.end() - half, likelihood.end(), 0.0) /
                      static_cast<double>(half));
    }
    return all;
}

struct mean_and_error { // of the mean
    double mean = 0, error = 0;
};
mean_and_error mean_of(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    return {mean, std::sqrt(squares / (count - 1) / count)};
}

} // namespace

BOOST_AUTO_TEST_SUITE(lda_runs)

BOOST_AUTO_TEST_CASE(find_topics_of_made_documents) {
    const matrix_rows rows = made_documents(300, 100, 5);
    for (const bool metropolis : {false, true})
        for (const std::uint32_t workers : {1u, 3u})
            BOOST_TEST_CONTEXT(metropolis << ' ' << workers) {
                lda_case c;
                c.topics = 10;
                c.metropolis = metropolis;
                c.sweeps = 60;
                c.run.workers = workers;
                const auto run = run_lda(c, rows);
                BOOST_REQUIRE(run.ok());
                const auto per_token = numbers_of(*run, "per_token");
                BOOST_TEST(per_token.size() == 60u);
                // One topic of ten words, and one of two topics, take ln 10 + ln 2 = 3.0 nats; a random start 4.9.
                BOOST_TEST(per_token.front() < -4.5);
                BOOST_TEST(per_token.back() > -3.6);
            }
}

BOOST_AUTO_TEST_CASE(keep_every_token_of_every_word) {
    const matrix_rows rows = made_documents(100, 60, 2);
    std::vector<std::int32_t> words(rows.columns);
    for (std::size_t i = 0; i < rows.values.size(); ++i)
        words[static_cast<std::size_t>(rows.indices[i])] +=
            static_cast<std::int32_t>(rows.values[i]);
    for (const std::uint32_t window : {0u, 1u, 5u})
        BOOST_TEST_CONTEXT("window " << window) {
            lda_case c;
            c.run.workers = 3;
            c.run.schedule.window = window;
            const auto run = run_lda(c, rows);
            BOOST_REQUIRE(run.ok());
            const auto counts = counts_of(*run, rows, c.topics);
            const auto standing = read_standing(run->saved.front());
            BOOST_REQUIRE(standing.ok());
            std::vector<std::int64_t> totals(c.topics);
            for (std::size_t w = 0; w < words.size(); ++w) {
                std::int32_t sum = 0;
                for (std::uint32_t k = 0; k < c.topics; ++k) {
                    sum += counts[w][k];
                    totals[k] += counts[w][k];
                }
                BOOST_TEST(sum == words[w]);
            }
            BOOST_TEST(totals == standing->totals);
            BOOST_TEST(standing->sweeps == 5);
        }
}

BOOST_AUTO_TEST_CASE(go_on_from_what_was_saved_as_if_nothing_had_happened) {
    const matrix_rows rows = made_documents(60, 40, 3);
    // Documents have a count for each topic, a list of topics, or their tokens.
    for (const auto& [topics, metropolis] : {std::pair{5u, false}, {300u, false}, {5u, true}}) {
        lda_case c;
        c.topics = topics;
        c.metropolis = metropolis;
        c.run.workers = 2;
        c.run.rows_per_piece = 7;
        const auto whole = run_lda(c, rows);
        BOOST_REQUIRE(whole.ok());
        for (std::uint64_t phase = 1; phase < whole->phases; ++phase)
            BOOST_TEST_CONTEXT("phase " << phase << ", " << topics
                                        << (metropolis ? " metropolis" : " exact")) {
                c.run.restart = phase;
                const auto again = run_lda(c, rows);
                BOOST_REQUIRE(again.ok());
                BOOST_TEST(again->changes == whole->changes, boost::test_tools::per_element());
                BOOST_TEST(
                    (counts_of(*again, rows, c.topics) == counts_of(*whole, rows, c.topics)));
            }
        c.run.restart.reset();
        c.run.seed = 2;
        const auto other = run_lda(c, rows);
        BOOST_REQUIRE(other.ok());
        BOOST_TEST((other->changes != whole->changes));
    }
}

BOOST_AUTO_TEST_CASE(are_as_good_with_more_workers) {
    const auto rows = reuters();
    if (!rows)
        return;
    for (const std::uint32_t workers : {1u, 2u, 4u})
        BOOST_TEST_CONTEXT(workers << " workers") {
            lda_case c;
            c.topics = 20;
            c.sweeps = 101;
            c.run.workers = workers;
            const auto run = run_lda(c, *rows);
            BOOST_REQUIRE(run.ok());
            const auto likelihood = numbers_of(*run, "likelihood");
            // Plain sampling, document by document, with ten seeds: -719,700, deviation 1,800, after 10 sweeps, and
            // -671,700, deviation 900, after 100.
            BOOST_TEST(std::fabs(likelihood[10] + 719700) < 5400);
            BOOST_TEST(std::fabs(likelihood[100] + 671700) < 2700);
            BOOST_TEST_MESSAGE(workers << " workers: " << likelihood[10] << ", "
                                       << likelihood[100]);
        }
}

BOOST_AUTO_TEST_CASE(by_metropolis_steps_come_to_the_likelihood_of_exact_draws) {
    // Documents of any words: topics form and dissolve, and no run stays where it has come first.
    random_stream random{3};
    std::vector<std::vector<std::int32_t>> documents(30, std::vector<std::int32_t>(12));
    for (auto& document : documents)
        for (std::int32_t& word : document)
            word = static_cast<std::int32_t>(random.below(12));
    const matrix_rows rows = rows_of(documents, 12);
    lda_case c;
    c.topics = 3;
    c.priors = {0.3, 0.3};
    c.sweeps = 2000;
    const mean_and_error exact = mean_of(levels(c, rows));
    BOOST_TEST_MESSAGE("exact: " << exact.mean << " +- " << exact.error);
    c.metropolis = true;
    for (const auto& [workers, proposals] : {std::pair{1u, 1u}, {1u, 4u}, {3u, 1u}})
        BOOST_TEST_CONTEXT(workers << " workers, " << proposals << " proposals") {
            c.run.workers = workers;
            c.proposals = proposals;
            c.sweeps = 4000;
            const mean_and_error own = mean_of(levels(c, rows));
            BOOST_TEST_MESSAGE(workers << ' ' << proposals << ": " << own.mean << " +- "
                                       << own.error);
            BOOST_TEST(std::fabs(own.mean - exact.mean) < 4 * std::hypot(own.error, exact.error));
        }
}

BOOST_AUTO_TEST_CASE(of_what_are_no_counts_end_with_a_sentence) {
    matrix_rows rows = made_documents(10, 20, 1);
    rows.values[5] = 0.25F;
    const auto run = run_lda({}, rows);
    BOOST_REQUIRE(!run.ok());
    BOOST_TEST((run.failure().code() == errc::data));
    BOOST_TEST(run.failure().message().starts_with("a document has 0.25 of a word"));
    for (float& value : rows.values)
        value = 0;
    const auto empty = run_lda({}, rows);
    BOOST_REQUIRE(!empty.ok());
    BOOST_TEST(empty.failure().message() == "the documents have no words: all counts are 0");
}

BOOST_AUTO_TEST_CASE(take_documents_of_a_dense_matrix_and_without_words) {
    matrix_rows rows;
    rows.columns = 3;
    rows.values = {1, 0, 2, 0, 0, 0, 0, 5, 0, 1, 1, 1};
    rows.targets.resize(4);
    lda_case c;
    c.run.workers = 2;
    const auto run = run_lda(c, rows);
    BOOST_REQUIRE(run.ok());
    BOOST_TEST(read_standing(run->saved.front())->tokens == 11);
}

BOOST_AUTO_TEST_SUITE_END()

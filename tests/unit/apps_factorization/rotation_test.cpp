#include <boost/test/unit_test.hpp>

#include <cmath>
#include <numeric>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/factorization/factorization.capnp.h"
#include "apps/factorization/factorization.hpp"
#include "tests/unit/apps_factorization/factorization_runs.hpp"

using namespace troupe;
using namespace troupe::factorization;
using namespace troupe::test;

namespace {

// Little data: more sweeps with larger steps than by default.
factorization_case small_case(std::uint32_t workers) {
    factorization_case c = sgd_case(4, workers, 120);
    c.settings.penalty = 0.005;
    c.settings.rate = 0.1;
    c.settings.decay = 0.04;
    return c;
}

void check_same(const factor_model& a, const factor_model& b) {
    BOOST_TEST(a.mean == b.mean);
    BOOST_TEST((a.user_factors == b.user_factors));
    BOOST_TEST((a.item_factors == b.item_factors));
    BOOST_TEST((a.user_biases == b.user_biases));
    BOOST_TEST((a.item_biases == b.item_biases));
}

} // namespace

BOOST_AUTO_TEST_SUITE(factorization_by_sgd)

BOOST_AUTO_TEST_CASE(comes_near_the_noise_of_made_ratings) {
    const ratings data = make_ratings({});
    for (const std::uint32_t workers : {1U, 4U}) {
        const auto run = run_well(small_case(workers), data);
        const double error = rmse(run.model, data.held_out_entries());
        const double said = run.last("rmse");
        BOOST_TEST_MESSAGE("workers " << workers << ": held out " << error << ", said " << said);
        BOOST_TEST(error < 0.125);
        BOOST_TEST(run.last("training_rmse") < 0.11);
        BOOST_TEST(std::abs(said / error - 1) < 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(reports_the_objective_that_it_has_reached) {
    const ratings data = make_ratings({});
    const auto c = small_case(2);
    const auto run = run_well(c, data);
    const double objective = objective_of(run.model, data.learned, c.settings.penalty);
    // It is of each rating before it was learned from.
    BOOST_TEST(run.last("objective") > objective);
    BOOST_TEST(run.last("objective") < 1.03 * objective);
}

BOOST_AUTO_TEST_CASE(comes_near_the_objective_of_alternating_least_squares) {
    const ratings data = make_ratings({.users = 150, .items = 100});
    for (const bool has_biases : {true, false}) {
        auto c = small_case(2);
        c.settings.penalty = 0.1;
        c.settings.has_biases = has_biases;
        const auto run = run_well(c, data);
        const double found = objective_of(run.model, data.learned, 0.1);
        const double least =
            objective_of(alternate(c.settings, data.learned, 60), data.learned, 0.1);
        BOOST_TEST_MESSAGE("objective " << found << ", least squares " << least);
        BOOST_TEST(std::abs(found / least - 1) < 0.01);
    }
}

BOOST_AUTO_TEST_CASE(predicts_the_same_when_the_mean_of_all_ratings_arrives) {
    memory_pool memory{1u << 24};
    capnp::MallocMessageBuilder message;
    message.initRoot<proto::FactorizationSettings>().setRank(2);
    scheduled::worker_site site;
    site.settings = message.getRoot<capnp::AnyPointer>().asReader();
    site.schedule.kind = scheduled::schedule_kind::rotation;
    site.memory = &memory;
    site.data = {3, 2, 9, true};
    site.workers = 2;
    site.rows = {0, 3};
    site.blocks = {{0, 1}, {1, 1}, {2, 0}, {2, 0}};
    const auto part = std::move(factorization_program().make_worker(site)).value();
    // The last user has no ratings, and no bias.
    const auto piece = scheduled::payload_of(memory, std::vector<std::int64_t>{0, 2, 3, 3},
                                             std::vector<std::int32_t>{0, 1, 0},
                                             std::vector<float>{4, 5, 3}, std::vector<double>(3));
    BOOST_REQUIRE(part->take_data(*piece).ok());
    BOOST_REQUIRE(part->data_is_complete().ok());
    const auto changes = scheduled::payload_of(memory, std::vector<double>{3.5, 1.0});
    BOOST_REQUIRE(part->apply({0, *changes}).ok());
    const auto saved = part->save().value();
    const auto biases = scheduled::read_state<float>(saved, "user biases").value();
    BOOST_TEST(biases[0] == 0.5F);
    BOOST_TEST(biases[1] == 0.5F);
    BOOST_TEST(biases[2] == 0.0F);
    BOOST_TEST(scheduled::read_state<double>(saved, "level").value()[0] == 3.5);
}

BOOST_AUTO_TEST_CASE(gives_the_same_bits_for_the_same_seed_and_others_for_another) {
    const ratings data = make_ratings({.users = 60, .items = 40});
    auto c = sgd_case(5, 3, 5);
    const auto first = run_well(c, data), second = run_well(c, data);
    check_same(first.model, second.model);
    c.run.seed = 2;
    const auto other = run_well(c, data);
    BOOST_TEST((first.model.user_factors != other.model.user_factors));
}

BOOST_AUTO_TEST_CASE(goes_on_from_what_it_has_saved_bit_for_bit) {
    const ratings data = make_ratings({.users = 60, .items = 40});
    const auto whole = run_well(sgd_case(5, 2, 4), data);
    for (const std::uint64_t phase : {1U, 2U, 4U, 5U, 7U, 13U}) {
        auto c = sgd_case(5, 2, 4);
        c.run.restart = phase;
        const auto resumed = run_well(c, data);
        check_same(whole.model, resumed.model);
        BOOST_TEST((whole.driven.changes == resumed.driven.changes));
    }
}

BOOST_AUTO_TEST_CASE(passes_blocks_on_with_the_number_of_ratings_of_each_item) {
    const ratings data = make_ratings({.users = 60, .items = 40});
    std::vector<std::int32_t> expected(40);
    for (const std::int32_t item : data.learned.indices)
        ++expected[static_cast<std::size_t>(item)];
    for (const std::uint64_t sweeps : {1U, 2U, 5U}) {
        // Ratings are counted in the first sweep, whatever follows it.
        const std::vector<std::int32_t> counts = run_well(sgd_case(5, 3, sweeps), data).item_counts;
        BOOST_TEST((counts == expected));
    }
}

BOOST_AUTO_TEST_CASE(does_not_depend_on_how_the_data_arrives) {
    const ratings data = make_ratings({.users = 60, .items = 40});
    auto c = sgd_case(5, 2, 3);
    const auto whole = run_well(c, data);
    c.run.rows_per_piece = 7;
    const auto pieces = run_well(c, data);
    check_same(whole.model, pieces.model);
}

BOOST_AUTO_TEST_CASE(learns_the_same_of_ratings_in_another_unit) {
    const made_ratings made{};
    made_ratings large = made;
    large.mean = 350;
    large.scale = 100;
    auto c = small_case(2);
    c.settings.has_biases = false;
    c.settings.rank = 8;
    const auto run = run_well(c, make_ratings(made));
    c.settings.penalty *= 100; // of factors, whose squares are 100 times as large
    const ratings data = make_ratings(large);
    const auto scaled = run_well(c, data);
    BOOST_TEST(std::abs(scaled.last("rmse") / run.last("rmse") / 100 - 1) < 0.05);
}

BOOST_AUTO_TEST_CASE(fits_ratings_without_biases) {
    const ratings data = make_ratings({});
    auto c = small_case(2);
    c.settings.has_biases = false;
    c.settings.rank = 8;
    const auto run = run_well(c, data);
    BOOST_TEST(run.model.mean == 0);
    const double error = rmse(run.model, data.held_out_entries());
    BOOST_TEST_MESSAGE("without biases: " << error);
    BOOST_TEST(error < 0.2);
}

BOOST_AUTO_TEST_CASE(predicts_the_mean_where_there_is_nothing_to_learn_from) {
    ratings data = make_ratings({.users = 30, .items = 20});
    data.learned.columns += 2; // items that nobody has rated
    data.held_out.columns += 2;
    for (auto* rows : {&data.learned, &data.held_out}) { // and a user without ratings
        rows->starts.push_back(rows->starts.back());
        rows->targets.push_back(0);
    }
    const auto run = run_well(sgd_case(3, 1, 5), data);
    const double mean =
        std::accumulate(data.learned.values.begin(), data.learned.values.end(), 0.0) /
        static_cast<double>(data.learned.values.size());
    BOOST_TEST(predict(run.model, 30, 21) == mean, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(predict(run.model, 30, 20) == mean, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(learns_equal_ratings) {
    ratings data = make_ratings({.users = 30, .items = 20});
    std::ranges::fill(data.learned.values, 4.0F);
    std::ranges::fill(data.held_out.values, 4.0F);
    const auto run = run_well(sgd_case(3, 2, 5), data);
    BOOST_TEST(rmse(run.model, data.held_out_entries()) < 0.1);
}

BOOST_AUTO_TEST_CASE(ends_when_the_objective_changes_little) {
    const ratings data = make_ratings({.users = 60, .items = 40});
    auto c = sgd_case(3, 1, 1000);
    c.run.stop.gap = 1e-3;
    const auto run = run_well(c, data);
    BOOST_TEST(run.driven.is_done);
    const auto& standings = run.driven.standings;
    BOOST_REQUIRE(standings.size() >= 3u);
    const auto objective = [&](std::size_t back) {
        return standings[standings.size() - back].numbers.back().value;
    };
    BOOST_TEST(std::abs(objective(2) - objective(1)) <= 1e-3 * objective(1));
    BOOST_TEST(std::abs(objective(3) - objective(2)) > 1e-3 * objective(2));
}

BOOST_AUTO_TEST_CASE(says_what_to_do_when_the_factors_grow_without_bound) {
    const ratings data = make_ratings({});
    auto c = sgd_case(4, 1, 50);
    c.settings.rate = 10;
    c.settings.decay = 0;
    c.settings.penalty = 0;
    const auto run = run_factorization(c, data);
    BOOST_REQUIRE(!run.ok());
    BOOST_TEST((run.failure().code() == errc::numeric));
    BOOST_TEST(run.failure().message().find(
                   "use a smaller program.factorization.rate, such as 2.5") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

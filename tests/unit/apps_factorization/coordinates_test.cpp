#include <boost/test/unit_test.hpp>

#include <cmath>
#include <set>

#include "apps/factorization/coordinate_order.hpp"
#include "tests/unit/apps_factorization/factorization_runs.hpp"

using namespace troupe;
using namespace troupe::factorization;
using namespace troupe::test;

namespace {

void check_same(const factor_model& a, const factor_model& b) {
    BOOST_TEST((a.user_factors == b.user_factors));
    BOOST_TEST((a.item_factors == b.item_factors));
    BOOST_TEST((a.user_biases == b.user_biases));
    BOOST_TEST((a.item_biases == b.item_biases));
}

std::uint64_t phases(const factorization_case& c, std::uint64_t items, std::uint64_t sweeps) {
    scheduled::program_site site;
    site.schedule = c.run.schedule;
    site.variables = ranges_of(items, c.run.schedulers);
    const coordinate_rows form{c.settings.rank, c.settings.has_biases};
    const auto order = order_of(site, form.groups());
    return order.begin() + sweeps * order.sweep_phases();
}

} // namespace

BOOST_AUTO_TEST_SUITE(factorization_by_coordinates)

BOOST_AUTO_TEST_CASE(never_raises_the_objective_and_comes_near_the_noise) {
    const ratings data = make_ratings({});
    for (const bool has_biases : {true, false}) {
        auto c = coordinates_case(has_biases ? 4 : 6, 2, 60);
        c.settings.penalty = 0.005;
        c.settings.has_biases = has_biases;
        c.run.phases_max = phases(c, data.learned.columns, 60);
        const auto run = run_well(c, data);
        double before = 1e300;
        for (const auto& standing : run.driven.standings) {
            BOOST_TEST(standing.numbers.back().name == "objective");
            BOOST_TEST(standing.numbers.back().value <= before * (1 + 1e-6));
            before = standing.numbers.back().value;
        }
        const double said = run.last("rmse");
        BOOST_TEST_MESSAGE("objective " << before << " rmse " << said);
        BOOST_TEST(run.last("rmse") < 0.125);
        const double error = rmse(run.model, data.held_out_entries());
        BOOST_TEST(std::abs(said / error - 1) < 1e-3);
        const double objective = objective_of(run.model, data.learned, c.settings.penalty);
        BOOST_TEST(std::abs(before / objective - 1) < 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(comes_near_the_objective_of_alternating_least_squares) {
    const ratings data = make_ratings({.users = 150, .items = 100});
    auto c = coordinates_case(4, 2, 100);
    c.settings.penalty = 0.1;
    const auto run = run_well(c, data);
    const double found = objective_of(run.model, data.learned, 0.1);
    const double least = objective_of(alternate(c.settings, data.learned, 60), data.learned, 0.1);
    BOOST_TEST_MESSAGE("objective " << found << ", least squares " << least);
    BOOST_TEST(std::abs(found / least - 1) < 0.002);
}

BOOST_AUTO_TEST_CASE(gives_the_same_with_any_window) {
    const ratings data = make_ratings({.users = 60, .items = 40});
    auto c = coordinates_case(3, 2, 3);
    c.run.schedule.set = 11;
    c.run.phases_max = phases(c, 40, 3);
    const auto exact = run_well(c, data);
    for (const std::uint32_t window : {1U, 2U, 5U}) {
        c.run.schedule.window = window;
        c.run.phases_max = phases(c, 40, 3);
        const auto run = run_well(c, data);
        BOOST_TEST(run.driven.standings.size() == 3u);
        BOOST_TEST(run.last("objective") == exact.last("objective"));
    }
}

BOOST_AUTO_TEST_CASE(gives_nearly_the_same_with_any_number_of_schedulers_workers_and_sets) {
    const ratings data = make_ratings({.users = 60, .items = 40});
    const auto plain = run_well(coordinates_case(3, 1, 5), data);
    for (const std::uint32_t schedulers : {1U, 3U}) {
        auto c = coordinates_case(3, 4, 5);
        c.run.schedulers = schedulers;
        c.run.schedule.window = 2;
        c.run.schedule.set = 6;
        c.run.phases_max = phases(c, 40, 5);
        const auto run = run_well(c, data);
        BOOST_TEST(run.driven.standings.size() == 5u);
        BOOST_TEST(std::abs(run.last("objective") / plain.last("objective") - 1) < 1e-4);
    }
}

BOOST_AUTO_TEST_CASE(goes_on_from_what_it_has_saved_bit_for_bit) {
    const ratings data = make_ratings({.users = 60, .items = 40});
    auto c = coordinates_case(3, 2, 3);
    c.run.schedulers = 2;
    c.run.schedule.window = 1;
    c.run.schedule.set = 9;
    c.run.phases_max = phases(c, 40, 3);
    const auto whole = run_well(c, data);
    for (std::uint64_t phase = 1; phase < c.run.phases_max; phase += 5) {
        auto again = c;
        again.run.restart = phase;
        const auto resumed = run_well(again, data);
        check_same(whole.model, resumed.model);
        BOOST_TEST((whole.driven.changes == resumed.driven.changes));
    }
}

BOOST_AUTO_TEST_CASE(updates_each_item_once_in_each_group_and_waits_for_what_is_in_flight) {
    for (const std::uint32_t schedulers : {1U, 2U, 3U})
        for (const std::uint32_t window : {0U, 1U, 4U}) {
            const coordinate_order order{schedulers, window, 3, 5};
            std::set<std::pair<std::uint32_t, std::uint64_t>> sets;
            std::uint64_t last_of_group = 0, groups = 0, probes = 0;
            for (std::uint64_t k = 0; k < order.begin() + 4 * order.sweep_phases(); ++k) {
                const coordinate_step step = order.step(k);
                if (step.begins_group || step.what == coordinate_step::kind::probe) {
                    BOOST_TEST(k > last_of_group + window);
                    BOOST_TEST((groups == 0 || sets.size() == 3u * schedulers));
                }
                probes += step.what == coordinate_step::kind::probe;
                if (step.what != coordinate_step::kind::items)
                    continue;
                if (step.begins_group) {
                    sets.clear();
                    ++groups;
                }
                BOOST_TEST(step.scheduler == k % schedulers);
                BOOST_TEST(sets.insert({step.scheduler, step.set}).second);
                last_of_group = k;
            }
            BOOST_TEST(groups == 20u);
            BOOST_TEST(probes == 4u);
        }
}

BOOST_AUTO_TEST_SUITE_END()

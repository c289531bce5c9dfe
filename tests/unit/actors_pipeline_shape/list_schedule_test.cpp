#include <boost/test/unit_test.hpp>

#include "actors/pipeline/shape/list_schedule.hpp"
#include "tests/unit/actors_pipeline_shape/tables.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(list_schedules)

BOOST_AUTO_TEST_CASE(a_device_takes_what_could_begin_by_the_rules) {
    const schedule_table places = synchronous_table(looped_places(2, 1), 2, 1, 3);
    list_rules rules{.times = {{1, 1}, {1, 1}, {1, 1}}, .bound = {3, 3}};
    const auto whole = list_schedule(places, rules);
    BOOST_REQUIRE(whole.has_value());
    BOOST_TEST(row_of(*whole, 0) == "0F0 0F1 0F2 0B0 0B1 0B2");
    BOOST_TEST(row_of(*whole, 1) == "1F0 1B0 1F1 1B1 1F2 1B2");
    rules.halves = true;
    const auto halves = list_schedule(places, rules);
    BOOST_REQUIRE(halves.has_value());
    BOOST_TEST(row_of(*halves, 0) == "0F0 0F1 0F2 0I0 0W0 0I1 0W1 0I2 0W2");
    BOOST_TEST(row_of(*halves, 1) == "1F0 1I0 1F1 1I1 1F2 1I2 1W0 1W1 1W2");
}

BOOST_AUTO_TEST_CASE(bounds_that_let_everybody_wait_give_no_order) {
    const schedule_table places = synchronous_table(v_shaped_places(2), 2, 1, 2);
    const std::vector<std::int64_t> ticks(4, 1);
    BOOST_TEST(!list_schedule(places, {.times = {ticks, ticks, ticks}, .bound = {1, 1}}));
    BOOST_TEST(
        list_schedule(places, {.times = {ticks, ticks, ticks}, .bound = {3, 3}}).has_value());
}

BOOST_AUTO_TEST_CASE(a_table_fitted_to_times_is_never_worse_at_them_nor_larger) {
    std::size_t better = 0;
    for (const schedule_row& row : schedule_rows())
        for (const std::uint32_t p : {2, 3, 4})
            for (const std::uint32_t m : {1, 4, 7})
                for (const timeline_options& t :
                     {times(1, 1, 1), times(1, {6, 5}, {4, 5}), times(2, 1, 3, {1, 2})}) {
                    const auto table = make_table(row.name, {.devices = p, .microbatches = m});
                    if (!table)
                        continue;
                    const schedule_table fitted = fitted_to(*table, t);
                    const auto period = find_steady_pace(*table, t).per_minibatch();
                    const auto fitted_period = find_steady_pace(fitted, t).per_minibatch();
                    BOOST_TEST((fitted_period <= period), row.name);
                    better += fitted_period < period ? 1 : 0;
                    const auto before = checked(*table).device_in_flight;
                    const auto after = checked(fitted).device_in_flight;
                    for (std::uint32_t d = 0; d < p; ++d)
                        BOOST_TEST(after[d] <= before[d]);
                }
    BOOST_TEST(better > 10u);
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include "tests/unit/actors_pipeline_shape/tables.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

std::string fault_of(const schedule_table& table) {
    const auto f = find_fault(table);
    return f ? to_string(*f) : "sound";
}

std::string fault_of(std::uint32_t stages, std::uint32_t microbatches,
                     const std::vector<std::string>& rows) {
    return fault_of(table_from(stages, microbatches, rows));
}

using counts = std::vector<std::uint32_t>;

// An epoch of minibatches with so many microbatches each comes to its end.
bool comes_to_its_end(const schedule_table& table, const counts& microbatches) {
    const std::vector<std::int64_t> ticks(table.chain_stages(), 1);
    return schedule_course{table, microbatches, {ticks, ticks, ticks}}.run();
}

struct choice {
    std::string_view name;
    table_request request;
};

// Every schedule in every setting that is small enough to be tried for all sizes.
std::vector<choice> all_choices() {
    std::vector<choice> all;
    for (const schedule_row& row : schedule_rows())
        for (const bool doubled : {false, true})
            for (const bool vertical : {false, true})
                for (std::uint32_t share = 1; share <= 3; ++share)
                    for (std::uint32_t per_device = 0; per_device <= 3; ++per_device)
                        if ((!doubled || row.takes.doubled_warm_up) &&
                            (!vertical || row.takes.vertical_sync) &&
                            (share == 1 || row.takes.activations) &&
                            (per_device == 0 || row.takes.stages_per_device))
                            all.push_back({row.name,
                                           {.stages_per_device = per_device,
                                            .doubled_warm_up = doubled,
                                            .activations = share,
                                            .vertical_sync = vertical}});
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedule_checker)

BOOST_AUTO_TEST_CASE(each_rule_is_broken_by_a_table) {
    BOOST_TEST(fault_of(2, 2, {"0F0 0F1 0B0 0B1 0U", "1F0 1B0 1F1 1B1 1U"}) == "sound");
    BOOST_TEST(fault_of(2, 2, {"0F0 0F1 0B0 0B1 0U", "1F0 1B0 1F1 1F0 1B1 1U"}) ==
               "row 2, column 4: 1F0 twice");
    BOOST_TEST(fault_of(1, 1, {"0F0 0B0 0B0 0U"}) ==
               "row 1, column 3: 0B0 though it was passed back before");
    BOOST_TEST(fault_of(1, 1, {"0F0 0B0 0W0 0U"}) ==
               "row 1, column 3: 0W0 though it was passed back before");
    BOOST_TEST(fault_of(1, 1, {"0F0 0I0 0B0 0U"}) ==
               "row 1, column 3: 0B0 though it was passed back before");
    BOOST_TEST(fault_of(1, 1, {"0F0 0W0 0I0 0U"}) == "row 1, column 2: 0W0 before 0I0");
    BOOST_TEST(fault_of(1, 1, {"0B0 0F0 0U"}) == "row 1, column 1: 0B0 before 0F0");
    BOOST_TEST(fault_of(1, 2, {"0F0 0F1 0B0 0U 0B1"}) == "row 1, column 4: 0U before 0B1");
    BOOST_TEST(fault_of(1, 1, {"0F0 0I0 0U 0W0"}) == "row 1, column 3: 0U before 0W0");
    BOOST_TEST(fault_of(1, 1, {"0F0 0B0 0U 0U"}) == "row 1, column 4: 0U twice");
    BOOST_TEST(fault_of(1, 2, {"0F0 0B0"}) == "row 1: 0F1 is missing");
    BOOST_TEST(fault_of(1, 1, {"0F0 0U"}) == "row 1: 0B0 is missing");
    BOOST_TEST(fault_of(1, 2, {"0F0 0U 0F1 0B0 0B1"}) == "row 1, column 2: 0U before 0B0");
    BOOST_TEST(fault_of(2, 1, {"0F0 0B0 0U", "1F0"}) == "row 2: 1B0 is missing");
    BOOST_TEST(fault_of(2, 1, {"0F0 0B0 0U", "1F0 1I0"}) == "row 2: 1W0 is missing");
    BOOST_TEST(fault_of(1, 1, {"0F0 0B0"}) == "row 1: 0U is missing");
}

BOOST_AUTO_TEST_CASE(numbers_beyond_their_bounds_are_refused) {
    BOOST_TEST(fault_of(1, 1, {"0F0 1F0"}) ==
               "row 1, column 2: 1F0 names a stage beyond the last, 0");
    BOOST_TEST(fault_of(1, 1, {"0F1"}) ==
               "row 1, column 1: 0F1 names a microbatch beyond the last, 0");
    BOOST_TEST(fault_of(2, 1, {"1F0", "1F0"}) ==
               "row 1, column 1: 1F0 stands in another row than its stage, which lies on row 2");
    BOOST_TEST(fault_of(1, 1, {"0F0+300"}) ==
               "row 1, column 1: 0F0 is more than 256 minibatches ahead or behind");
    BOOST_TEST(fault_of(1, 0, {""}) == "a table has 1 to 4096 microbatches");
    BOOST_TEST(fault_of(0, 1, {""}) == "a table has 1 to 256 stages and 1 to 8 replicas");
    BOOST_TEST(fault_of(1, 1, {}) == "a table has 1 to 256 devices");
    schedule_table nowhere = table_from(1, 1, {"0F0 0B0 0U"});
    nowhere.device_of = {1};
    BOOST_TEST(fault_of(nowhere) == "each stage of a table lies on one of its devices");
    schedule_table huge = table_from(256, 4096, {"0F0+1"});
    huge.replicas = 8;
    huge.device_of.assign(2048, 0);
    BOOST_TEST(fault_of(huge).starts_with("a table with so many steps, or stages and "));
}

BOOST_AUTO_TEST_CASE(circles_of_waits_are_found_over_all_devices) {
    BOOST_TEST(fault_of(2, 2, {"0F0 0B0 0F1 0B1 0U", "1F0 1F1 1B0 1B1 1U"}) ==
               "row 1, column 2: 0B0 waits for 1B0, which is behind 1F1 of row 2, which waits for "
               "0F1: a circle");
    BOOST_TEST(
        fault_of(3, 2, {"0F0 0B0 0F1 0B1 0U", "1F0 1B0 1F1 1B1 1U", "2F0 2F1 2I0 2W0 2B1 2U"}) ==
        "row 2, column 2: 1B0 waits for 2I0, which is behind 2F1 of row 3, which waits for 1F1: a "
        "circle");
    // A device's own stages wait for each other, too.
    BOOST_TEST(fault_of(2, 1, {"1F0 0F0 1B0 0B0 0U 1U"}) == "row 1, column 1: 1F0 before 0F0");
}

BOOST_AUTO_TEST_CASE(versions_that_are_not_there_yet_are_refused) {
    BOOST_TEST(fault_of(1, 1, {"0F0 | 0F0+1-1 0B0 0U"}) == "sound");
    BOOST_TEST(fault_of(1, 1, {"0F0 | 0F0+1 0B0 0U"}) ==
               "row 1, column 2: 0F0 of minibatch 1 names weights of 1 updates, where 0 are made "
               "by then");
    schedule_table latest = table_from(1, 1, {"0F0-1 0B0 0U"});
    BOOST_TEST(fault_of(latest) == "sound");
    latest.stashes_weights = false;
    BOOST_TEST(fault_of(latest) == "row 1, column 1: 0F0 of minibatch 1 names older weights than "
                                   "the latest, which the table does not keep");
    // A warm-up that leaves a minibatch out.
    BOOST_TEST(fault_of(1, 1, {"0F0+1-1 0B0 0U"}) == "row 1, column 2: 0B0 before 0F0");
}

BOOST_AUTO_TEST_CASE(schedules_are_sound_for_all_sizes_and_for_any_part_of_their_work) {
    std::size_t tables = 0;
    for (const choice& c : all_choices())
        for (std::uint32_t devices = 1; devices <= 6; ++devices)
            for (std::uint32_t microbatches = 1; microbatches <= 12; ++microbatches) {
                table_request request = c.request;
                request.devices = devices;
                request.microbatches = microbatches;
                const auto table = make_table(c.name, request);
                if (!table) // such as two directions on an odd number of devices
                    continue;
                ++tables;
                const auto f = find_fault(*table);
                BOOST_REQUIRE_MESSAGE(!f, c.name << " on " << devices << " devices, "
                                                 << microbatches
                                                 << " microbatches: " << (f ? to_string(*f) : ""));
                for (const counts& epoch :
                     {counts{microbatches}, counts{1, microbatches, 1},
                      counts{microbatches, microbatches, (microbatches + 1) / 2},
                      counts(9, (microbatches + 1) / 2)})
                    BOOST_REQUIRE_MESSAGE(comes_to_its_end(*table, epoch),
                                          c.name << " on " << devices << " devices, "
                                                 << microbatches << " microbatches is stuck");
            }
    BOOST_TEST(tables > 1000);
}

BOOST_AUTO_TEST_CASE(microbatches_in_flight_are_those_of_the_literature) {
    for (std::uint32_t p = 1; p <= 8; ++p) {
        const std::uint32_t m = 4 * p;
        const table_request of{.devices = p, .microbatches = m};
        table_request twice = of;
        twice.doubled_warm_up = true;
        const table_numbers gpipe = checked(made("gpipe", of));
        const table_numbers flush = checked(made("one_f_one_b", of));
        const table_numbers early = checked(made("one_f_one_b", twice));
        const table_numbers h1 = checked(made("zero_bubble", of));
        const table_numbers h2 = checked(made("zero_bubble", twice));
        for (std::uint32_t s = 0; s < p; ++s) {
            BOOST_TEST(gpipe.in_flight[s] == m);
            BOOST_TEST(flush.in_flight[s] == p - s);
            BOOST_TEST(early.in_flight[s] == 2 * (p - s) - 1);
            BOOST_TEST(h1.in_flight[s] == p);
            BOOST_TEST(h2.in_flight[s] == 2 * p - 1);
            BOOST_TEST(flush.versions[s] == 1u);
            BOOST_TEST(flush.lag[s] == 0u);
        }
        for (std::uint32_t v = 2; v <= 3; ++v) {
            const table_numbers dealt = checked(
                made("interleaved", {.devices = p, .microbatches = m, .stages_per_device = v}));
            const table_numbers doubled = checked(made("zero_bubble", {.devices = p,
                                                                       .microbatches = m,
                                                                       .stages_per_device = v,
                                                                       .doubled_warm_up = true}));
            for (std::uint32_t r = 0; r < p; ++r) {
                BOOST_TEST(dealt.device_in_flight[r] ==
                           std::min(m * v, 2 * (p - 1 - r) + (v - 1) * p + 1));
                BOOST_TEST(doubled.device_in_flight[r] == v * p + p - 1);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(versions_kept_are_those_of_the_literature) {
    for (std::uint32_t p = 1; p <= 8; ++p)
        for (std::uint32_t m = 1; m <= 2 * p; ++m) {
            const table_request of{.devices = p, .microbatches = m};
            table_request together = of;
            together.vertical_sync = true;
            const table_numbers stale = checked(made("pipedream", of));
            const table_numbers vertical = checked(made("pipedream", together));
            const table_numbers two = checked(made("two_versions", of));
            const table_numbers local = checked(made("local_accumulation", of));
            for (std::uint32_t s = 0; s < p; ++s) {
                const std::uint32_t w = p - 1 - s;
                BOOST_TEST(stale.versions[s] == (w + m - 1) / m + 1);
                BOOST_TEST(stale.lag[s] == (w + m - 1) / m);
                BOOST_TEST(stale.in_flight[s] == w + 1);
                // A stage keeps what the first one may have used, up to its own latest.
                BOOST_TEST(vertical.versions[s] == (p - 1 + m - 1) / m + 1);
                BOOST_TEST(vertical.lag[s] == (p - 1 + m - 1) / m);
                BOOST_TEST(two.versions[s] == 2u);
                BOOST_TEST(two.lag[s] == 1u);
                BOOST_TEST(local.versions[s] == 1u);
                BOOST_TEST(local.lag[s] == (w + m - 1) / m);
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()

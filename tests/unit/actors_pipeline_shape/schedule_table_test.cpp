#include <boost/test/unit_test.hpp>

#include "tests/unit/actors_pipeline_shape/tables.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

std::string listing(const schedule_table& table, std::uint32_t device,
                    const std::vector<std::uint32_t>& microbatches) {
    std::string text;
    for (const epoch_step& e : list_steps(table.devices[device], microbatches))
        text += (text.empty() ? "" : " ") + to_string(e.what) + "." + std::to_string(e.minibatch);
    return text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedule_tables)

BOOST_AUTO_TEST_CASE(steps_of_work_that_does_not_exist_are_passed_over) {
    const schedule_table pipedream = made("pipedream", {.devices = 3});
    BOOST_TEST(listing(pipedream, 0, {1, 1, 1, 1}) ==
               "0F0.0 0F0.1 0F0.2 0B0.0 0U.0 0F0.3 0B0.1 0U.1 0B0.2 0U.2 0B0.3 0U.3");
    BOOST_TEST(listing(pipedream, 2, {1, 1}) == "2F0.0 2B0.0 2U.0 2F0.1 2B0.1 2U.1");
    BOOST_TEST(listing(pipedream, 0, {1}) == "0F0.0 0B0.0 0U.0");
    BOOST_TEST(listing(pipedream, 0, {}) == "");
    const schedule_table gpipe = made("gpipe", {.devices = 2, .microbatches = 3});
    BOOST_TEST(listing(gpipe, 1, {3, 1}) ==
               "1F0.0 1F1.0 1F2.0 1B2.0 1B1.0 1B0.0 1U.0 1F0.1 1B0.1 1U.1");
}

BOOST_AUTO_TEST_CASE(tables_are_those_written_by_hand) {
    const schedule_table halves = made("zero_bubble", {.devices = 3, .microbatches = 4});
    BOOST_TEST(row_of(halves, 0) == "0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3");
    BOOST_TEST(row_of(halves, 1) == "1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3");
    BOOST_TEST(row_of(halves, 2) == "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3");
    const schedule_table flush = made("one_f_one_b", {.devices = 2, .microbatches = 3});
    BOOST_TEST(row_of(flush, 0) == "0F0 0F1 0B0 0F2 0B1 0B2");
    BOOST_TEST(row_of(flush, 1) == "1F0 1B0 1F1 1B1 1F2 1B2");
    const schedule_table early =
        made("one_f_one_b", {.devices = 3, .microbatches = 6, .doubled_warm_up = true});
    BOOST_TEST(row_of(early, 1) == "1F0 1F1 1F2 1B0 1F3 1B1 1F4 1B2 1F5 1B3 1B4 1B5");
    const schedule_table dealt = made("interleaved", {.devices = 2, .microbatches = 2});
    BOOST_TEST(row_of(dealt, 0) == "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
    BOOST_TEST(row_of(dealt, 1) == "1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1");
    const schedule_table ways = made("chimera", {.devices = 4, .microbatches = 2});
    BOOST_TEST(row_of(ways, 0) == "0F0 0F1 7F0 7B0 7F1 7B1 0B0 0B1");
    BOOST_TEST(row_of(ways, 1) == "1F0 6F0 1F1 6F1 6B0 1B0 6B1 1B1");
    BOOST_TEST((ways.device_of == std::vector<std::uint32_t>{0, 1, 2, 3, 3, 2, 1, 0}));
    const schedule_table gems = made("gems", {.devices = 2, .microbatches = 2});
    BOOST_TEST(row_of(gems, 1) == "1F0 1B0 2F0 2B0 1F1 1B1 2F1 2B1");
    BOOST_TEST((dealt.devices[0].body.back() == schedule_step{step_kind::update, 2}));
}

BOOST_AUTO_TEST_CASE(forwards_without_a_flush_name_the_versions_of_their_schedule) {
    const auto behind = [](const schedule_table& t, std::uint32_t device) {
        std::string text;
        for (const schedule_step& s : t.devices[device].body)
            if (s.kind == step_kind::forward)
                text += to_string(s) + "+" + std::to_string(s.ahead) + "-" +
                        std::to_string(s.behind) + " ";
        return text;
    };
    BOOST_TEST(behind(made("pipedream", {.devices = 4}), 1) == "1F0+2-2 ");
    BOOST_TEST(behind(made("pipedream", {.devices = 4, .vertical_sync = true}), 1) == "1F0+2-3 ");
    BOOST_TEST(behind(made("two_versions", {.devices = 3, .microbatches = 3}), 0) ==
               "0F2+0-1 0F0+1-1 0F1+1-1 ");
    // With fewer microbatches than stages the warm-up is a minibatch.
    BOOST_TEST(behind(made("two_versions", {.devices = 4, .microbatches = 2}), 0) ==
               "0F0+1-1 0F1+1-1 ");
    // Two or one of w = 3 microbatches cross an update.
    BOOST_TEST(behind(made("local_accumulation", {.devices = 4, .microbatches = 2}), 0) ==
               "0F1+1-1 0F0+2-2 ");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_by_a_sentence) {
    const auto why = [](std::string_view name, table_request request) {
        const auto table = make_table(name, request);
        return table ? std::string{"made"} : table.failure().message();
    };
    BOOST_TEST(why("hanayo", {})
                   .starts_with("there is no schedule of this name; the schedules are gpipe, "));
    BOOST_TEST(why("gpipe", {.devices = 0}) == "gpipe: devices must be from 1 to 256");
    BOOST_TEST(why("gpipe", {.microbatches = 5000}) ==
               "gpipe: microbatches must be from 1 to 4096");
    BOOST_TEST(why("gpipe", {.stages_per_device = 2}) ==
               "gpipe: takes no setting for stages per device; leave it out");
    BOOST_TEST(why("pipedream", {.doubled_warm_up = true}) ==
               "pipedream: takes no setting for a doubled warm-up; leave it out");
    BOOST_TEST(why("chimera", {.devices = 5}) ==
               "chimera: two directions need an even number of devices; take 6");
    BOOST_TEST(
        why("zero_bubble_v", {.devices = 2, .activations = 4}) ==
        "zero_bubble_v: keeps all, 1 of 2 or 1 of 3 parts of the activations; take 1, 2 or 3");
    BOOST_TEST(why("interleaved", {.devices = 200}) ==
               "interleaved: devices times stages per device must be at most 256");
    BOOST_TEST(why("gpipe", {.devices = 256, .microbatches = 4096}) ==
               "gpipe: devices, stages per device and microbatches make more than 1048576 steps; "
               "take fewer");
}

BOOST_AUTO_TEST_CASE(decimal_numbers_are_read_exactly) {
    BOOST_TEST(*read_decimal("1.2") == (fraction{6, 5}));
    BOOST_TEST(*read_decimal("0") == fraction{0});
    BOOST_TEST(*read_decimal("1000000") == fraction{1'000'000});
    for (const char* wrong :
         {"", ".", "1.", ".5", "-1", "1e3", "1000001", "1.0000001", "1,5", " 1"})
        BOOST_TEST(!read_decimal(wrong), wrong);
    BOOST_TEST(to_string(fraction{58, 4}) == "29/2");
    BOOST_TEST(fraction(1, 3) + fraction(1, 6) == fraction(1, 2));
    BOOST_TEST(fraction(1, 3) / fraction(-2) == fraction(-1, 6));
    BOOST_TEST((fraction{1, 3} < fraction{1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()

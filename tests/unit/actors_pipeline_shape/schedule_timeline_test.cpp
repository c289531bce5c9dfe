#include <boost/test/unit_test.hpp>

#include "tests/unit/actors_pipeline_shape/tables.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct ratio {
    fraction f, i, w;
};
const ratio ratios[] = {{1, 1, 1}, {1, {6, 5}, {4, 5}}, {1, {4, 5}, {6, 5}}, {2, 3, 1}};

fraction larger(fraction a, fraction b) {
    return a < b ? b : a;
}

timeline_options waiting(timeline_options options) {
    options.updates_wait_for_all = true;
    return options;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedule_timeline)

BOOST_AUTO_TEST_CASE(an_epoch_takes_its_steps_one_after_the_other) {
    const schedule_table table = made("gpipe", {.devices = 2, .microbatches = 2});
    const tick_times ticks = ticks_of(table, times({1, 2}, 1, {1, 3}, {1, 4}));
    BOOST_TEST(ticks.per_unit == 12);
    const std::vector<std::uint32_t> epoch{2};
    schedule_course course{table, epoch, ticks.times};
    BOOST_REQUIRE(course.run());
    std::string text;
    for (std::size_t i = 0; i < course.steps(0).size(); ++i)
        text += to_string(course.steps(0)[i].what) + " " +
                std::to_string(course.spans(0)[i].start) + "-" +
                std::to_string(course.spans(0)[i].end) + ", ";
    // The last stage begins at 6 + 3, ends its forwards at 21, its first backward at 37, which is there at 40.
    BOOST_TEST(text == "0F0 0-6, 0F1 6-12, 0B1 40-56, 0B0 56-72, 0U 72-72, ");
    BOOST_TEST(makespan_of(table, times(1, 1, 1), 1) == fraction{9});
    BOOST_TEST(makespan_of(table, times(1, 1, 1), 3) == fraction{27});
}

BOOST_AUTO_TEST_CASE(idle_time_of_one_forward_one_backward_equals_the_theory) {
    for (const ratio& t : ratios)
        for (std::uint32_t p = 1; p <= 6; ++p)
            for (std::uint32_t m = 1; m <= 12; ++m) {
                const table_request of{.devices = p, .microbatches = m};
                const fraction expected = fraction{p - 1} * (t.f + t.i + t.w);
                BOOST_TEST(idle_of(made("gpipe", of), times(t.f, t.i, t.w)) == expected);
                BOOST_TEST(idle_of(made("one_f_one_b", of), times(t.f, t.i, t.w)) == expected);
            }
}

BOOST_AUTO_TEST_CASE(
    idle_time_of_interleaved_stages_equals_the_theory_for_every_number_of_microbatches) {
    for (const ratio& t : ratios)
        for (std::uint32_t p = 2; p <= 5; ++p)
            for (std::uint32_t m = p; m <= 3 * p + 1; ++m)
                for (std::uint32_t v = 1; v <= 3; ++v) {
                    const table_request of{.devices = p, .microbatches = m, .stages_per_device = v};
                    const fraction share{p - 1, v};
                    BOOST_TEST(idle_of(made("interleaved", of), times(t.f, t.i, t.w)) ==
                               share * (t.f + t.i + t.w));
                    BOOST_TEST(idle_of(made("zero_bubble", of), times(t.f, t.i, t.w)) ==
                               share * larger(t.i, t.f + t.i - t.w));
                }
}

BOOST_AUTO_TEST_CASE(idle_time_of_a_doubled_warm_up_equals_the_theory) {
    for (const ratio& t : ratios)
        for (std::uint32_t p = 2; p <= 5; ++p)
            for (std::uint32_t m = 2 * p - 1; m <= 3 * p + 1 && t.w <= t.f; ++m)
                for (std::uint32_t v = 1; v <= 3; ++v) {
                    const schedule_table table = made("zero_bubble", {.devices = p,
                                                                      .microbatches = m,
                                                                      .stages_per_device = v,
                                                                      .doubled_warm_up = true});
                    const fraction share{p - 1, v};
                    const fraction rest = t.f + t.i - t.w - t.w;
                    fraction expected = share * larger(0, rest);
                    // Several stages in rounds of five: the last device is a slot late with a round's forwards.
                    if (v > 1 && p == 5 && m % p == 0 && t.i == t.f && t.w == t.f)
                        expected = fraction{1, v};
                    BOOST_TEST(idle_of(table, times(t.f, t.i, t.w)) == expected,
                               p << " devices, " << m << " microbatches, " << v << " stages each");
                    BOOST_TEST(idle_of(table, waiting(times(t.f, t.i, t.w))) ==
                               share * larger(t.f, rest));
                }
    for (std::uint32_t p = 2; p <= 6; ++p)
        for (std::uint32_t m = p; m < 2 * p - 1; ++m)
            BOOST_TEST(idle_of(made("zero_bubble",
                                    {.devices = p, .microbatches = m, .doubled_warm_up = true}),
                               times(1, 1, 1)) == fraction{2 * p - 1 - m});
}

BOOST_AUTO_TEST_CASE(a_bound_that_is_waited_for_costs_h1_nothing) {
    for (const ratio& t : ratios)
        for (std::uint32_t p = 2; p <= 5 && t.w <= t.f; ++p)
            for (std::uint32_t m = p; m <= 2 * p; ++m)
                BOOST_TEST(idle_of(made("zero_bubble", {.devices = p, .microbatches = m}),
                                   waiting(times(t.f, t.i, t.w))) ==
                           fraction{p - 1} * larger(t.i, t.f + t.i - t.w));
}

BOOST_AUTO_TEST_CASE(idle_time_of_a_v_equals_the_theory) {
    for (const ratio& t : ratios)
        for (std::uint32_t p = 2; p <= 6; ++p)
            for (std::uint32_t m = 2 * p - 1; m <= 12 && t.f <= t.i && t.w <= t.f; ++m) {
                const schedule_table table =
                    made("zero_bubble_v", {.devices = p, .microbatches = m});
                BOOST_TEST(idle_of(table, times(t.f, t.i, t.w)) == fraction{p - 1} * (t.i - t.w));
                BOOST_TEST(idle_of(table, waiting(times(t.f, t.i, t.w))) ==
                           fraction{p - 1} * larger(t.i / 2, t.i - t.w));
            }
}

BOOST_AUTO_TEST_CASE(a_v_with_less_memory_idles_as_published) {
    struct row {
        std::uint32_t share, devices;
        fraction idle;              // at most
        std::uint32_t microbatches; // in flight, of both stages of a device
    };
    const row rows[] = {{2, 4, {5, 2}, 3},  {2, 6, {11, 2}, 4}, {2, 8, {17, 2}, 5},
                        {3, 4, {11, 2}, 2}, {3, 6, {17, 2}, 3}, {3, 8, {27, 2}, 4}};
    for (const row& r : rows)
        for (const std::uint32_t m : {2 * r.devices, 3 * r.devices + 1}) {
            const schedule_table table = made(
                "zero_bubble_v", {.devices = r.devices, .microbatches = m, .activations = r.share});
            BOOST_TEST((idle_of(table, times(1, 1, 1)) <= r.idle),
                       r.devices << " devices, 1 of " << r.share << ": "
                                 << idle_of(table, times(1, 1, 1)));
            for (const std::uint32_t n : checked(table).device_in_flight)
                BOOST_TEST(n <= 2 * r.microbatches);
        }
    for (std::uint32_t p = 1; p <= 8; ++p)
        for (std::uint32_t share = 2; share <= 3; ++share)
            for (const std::uint32_t n :
                 checked(made("zero_bubble_v",
                              {.devices = p, .microbatches = 3 * p, .activations = share}))
                     .device_in_flight)
                BOOST_TEST(n <= 2 * (share == 2 ? (p + 2) / 2 : (p + 4) / 3));
}

BOOST_AUTO_TEST_CASE(two_directions_idle_as_published) {
    for (std::uint32_t p = 4; p <= 8; p += 2) {
        // Both directions together have p and 2p microbatches; a backward takes as long as a forward, or twice as long.
        const schedule_table one = made("chimera", {.devices = p, .microbatches = p / 2});
        const schedule_table two = made("chimera", {.devices = p, .microbatches = p});
        BOOST_TEST(idle_of(one, times(1, {1, 2}, {1, 2})) == fraction{p - 2});
        BOOST_TEST(idle_of(two, times(1, {1, 2}, {1, 2})) == fraction{p - 2});
        BOOST_TEST(idle_of(one, times(1, 1, 1)) == fraction{2 * (p - 2)});
        // Units of p microbatches one behind the other idle 3 (p - 2); the list begins the second one a slot earlier.
        BOOST_TEST(idle_of(two, times(1, 1, 1)) == fraction{3 * (p - 2) - 1});
        for (const std::uint32_t m : {p, 2 * p, 3 * p + 1}) {
            const schedule_table dual = made("dual_pipe", {.devices = p, .microbatches = m});
            for (const ratio& t : ratios) {
                const fraction published = fraction{p / 2 - 1} * (t.f + t.i - t.w);
                const fraction idle = idle_of(dual, times(t.f, t.i, t.w));
                BOOST_TEST((published <= idle));
                if (t.w <= t.f && t.f == fraction{1})
                    BOOST_TEST(idle == published);
            }
            for (const std::uint32_t n : checked(dual).device_in_flight)
                BOOST_TEST(n == p + 1);
        }
        for (const std::uint32_t n :
             checked(made("gems", {.devices = p, .microbatches = 3})).device_in_flight)
            BOOST_TEST(n == 1u);
    }
    const auto in_flight = [](std::uint32_t p) {
        return checked(made("chimera", {.devices = p, .microbatches = p / 2})).device_in_flight;
    };
    BOOST_TEST((in_flight(4) == std::vector<std::uint32_t>{3, 4, 4, 3}));
    BOOST_TEST((in_flight(8) == std::vector<std::uint32_t>{5, 6, 7, 8, 8, 7, 6, 5}));
}

BOOST_AUTO_TEST_CASE(schedules_without_a_flush_have_no_idle_time) {
    for (const ratio& t : ratios)
        for (std::uint32_t p = 1; p <= 6; ++p)
            for (std::uint32_t m = 1; m <= 8; ++m) {
                const table_request of{.devices = p, .microbatches = m};
                BOOST_TEST(idle_of(made("pipedream", of), times(t.f, t.i, t.w)) == fraction{0});
                BOOST_TEST(idle_of(made("local_accumulation", of), times(t.f, t.i, t.w)) ==
                           fraction{0});
                if (m >= p)
                    BOOST_TEST(idle_of(made("two_versions", of), times(t.f, t.i, t.w)) ==
                               fraction{0});
            }
}

BOOST_AUTO_TEST_CASE(what_is_best_depends_on_the_link) {
    struct row {
        std::string_view name;
        std::uint32_t per_device;
        bool doubled;
        fraction idle[3]; // for hops of 0, a quarter and one forward
    };
    const row rows[] = {{"one_f_one_b", 0, false, {9, {29, 2}, 31}},
                        {"interleaved", 2, false, {{9, 2}, 8, {49, 2}}},
                        {"zero_bubble", 1, false, {3, 6, 20}},
                        {"zero_bubble", 2, false, {{3, 2}, {11, 2}, 36}},
                        {"zero_bubble", 1, true, {0, {3, 2}, 6}}};
    const fraction hops[] = {0, {1, 4}, 1};
    for (const row& r : rows)
        for (std::size_t h = 0; h < 3; ++h)
            BOOST_TEST(idle_of(made(r.name, {.devices = 4,
                                             .microbatches = 12,
                                             .stages_per_device = r.per_device,
                                             .doubled_warm_up = r.doubled}),
                               times(1, 1, 1, hops[h])) == r.idle[h],
                       r.name << ", hop " << hops[h]);
}

// Versions that a minibatch can still ask for at a stage: those of minibatches that the first stage has begun and this one
// has not passed back.
std::vector<std::size_t> versions_asked_for(std::uint32_t stages) {
    const schedule_table table = made("pipedream", {.devices = stages, .vertical_sync = true});
    const std::vector<std::uint32_t> epoch(4 * stages, 1);
    const tick_times ticks = ticks_of(table, times(1, {1, 2}, {1, 2}));
    schedule_course course{table, epoch, ticks.times};
    BOOST_REQUIRE(course.run());
    const auto when = [&](std::uint32_t s, step_kind kind) {
        std::vector<std::int64_t> at;
        for (std::size_t i = 0; i < course.steps(s).size(); ++i)
            if (course.steps(s)[i].what.kind == kind)
                at.push_back(kind == step_kind::forward ? course.spans(s)[i].start
                                                        : course.spans(s)[i].end);
        return at;
    };
    const auto tagged = when(0, step_kind::forward);
    std::vector<std::size_t> most(stages);
    for (std::uint32_t s = 0; s < stages; ++s) {
        const auto passed = when(s, step_kind::backward);
        for (const std::int64_t t : tagged) {
            const auto begun = static_cast<std::size_t>(
                std::ranges::count_if(tagged, [&](std::int64_t at) { return at <= t; }));
            const auto ended = static_cast<std::size_t>(std::ranges::count_if(
                passed, [&](std::int64_t at) { return at < t + (s == 0 ? 1 : 0); }));
            const auto version = [&](std::size_t minibatch) {
                return minibatch - std::min<std::size_t>(minibatch, stages - 1);
            };
            most[s] = std::max(most[s], version(begun - 1) - version(ended) + 1);
        }
    }
    return most;
}

BOOST_AUTO_TEST_CASE(minibatches_ask_with_vertical_sync_for_the_versions_of_the_literature) {
    BOOST_TEST(versions_asked_for(4) == (std::vector<std::size_t>{4, 4, 4, 3}),
               boost::test_tools::per_element());
    BOOST_TEST(versions_asked_for(6) == (std::vector<std::size_t>{6, 6, 6, 5, 5, 4}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

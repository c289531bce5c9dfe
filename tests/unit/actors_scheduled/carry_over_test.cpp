// A commit of a run as what another one goes on from.
#include <boost/test/unit_test.hpp>

#include <stdexcept>

#include "actors/scheduled/carry_over.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

memory_pool& memory() {
    static memory_pool pool{1u << 20};
    return pool;
}

saved_part part_of(double number) {
    return {{"x"}, payload_of(memory(), std::vector<double>{number}).value()};
}
double number_of(const saved_part& part) {
    return part.tensors.at(0).values<double>()[0];
}

carried_site site_of(std::uint32_t workers, std::uint32_t schedulers, std::uint32_t window) {
    carried_site site;
    site.memory = &memory();
    site.schedule.window = window;
    site.workers = workers;
    site.rows.assign(workers, {0, 1});
    site.variables.assign(schedulers, {0, 1});
    return site;
}

// Of two workers and a scheduler with a window of 2, at phase 10.
std::vector<saved_state> commit_at_10() {
    std::vector<saved_state> commit(3);
    for (std::size_t m = 0; m < 3; ++m) {
        commit[m].number = 10;
        commit[m].part = part_of(static_cast<double>(m));
    }
    commit[0].blocks = {{4, 9, {}}};
    commit[2].milestones = 3;
    commit[2].phases = {{10, false, {}}, {11, false, {}}, {12, true, {}}};
    for (const std::uint64_t n : {7u, 8u, 9u})
        commit[2].deltas.push_back({n, part_of(static_cast<double>(n)).tensors});
    return commit;
}

program as_it_is() {
    program p;
    p.name = "as it is";
    p.carry_over = [](const carried_site&, const carried_site&, carried_run&) {
        return result<void>{};
    };
    return p;
}

} // namespace

BOOST_AUTO_TEST_SUITE(runs_that_are_carried_over)

BOOST_AUTO_TEST_CASE(workers_come_to_the_phase_and_nothing_is_in_flight) {
    const auto states =
        carry_over(as_it_is(), site_of(2, 1, 2), site_of(2, 1, 4), commit_at_10()).value();
    BOOST_REQUIRE(states.size() == 3u);
    for (const std::size_t w : {0u, 1u}) {
        BOOST_TEST(states[w].number == 10u);
        BOOST_TEST(number_of(states[w].part) == static_cast<double>(w));
        BOOST_REQUIRE(states[w].deltas.size() == 2u); // phase 7 is applied already
        BOOST_TEST(states[w].deltas[0].number == 8u);
        BOOST_TEST(states[w].deltas[1].changes[0].values<double>()[0] == 9.0);
    }
    BOOST_TEST(states[0].blocks.size() == 1u);
    const saved_state& scheduler = states[2];
    BOOST_TEST(scheduler.phases.empty());
    BOOST_TEST(scheduler.milestones == 3u);
    BOOST_REQUIRE(scheduler.deltas.size() == 5u);
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST(scheduler.deltas[i].number == 5 + i);
        BOOST_TEST(scheduler.deltas[i].changes.empty());
    }
}

BOOST_AUTO_TEST_CASE(the_end_of_a_run_holds_for_the_same_bounds_alone) {
    auto commit = commit_at_10();
    commit[2].end = {12, true};
    const auto end_with = [&](double gap) {
        carried_site now = site_of(2, 1, 4);
        now.stop.gap = gap;
        return carry_over(as_it_is(), site_of(2, 1, 2), now, commit).value()[2].end.phase;
    };
    BOOST_TEST(end_with(0) == 10u);
    BOOST_TEST(end_with(1e-6) == 0u);
    const commit_shape shape{2, 1, 2, 0};
    BOOST_TEST(goes_on_as_it_is(shape, shape, commit));
    BOOST_TEST(!goes_on_as_it_is(shape, {2, 1, 2, 1e-6}, commit));
    BOOST_TEST(!goes_on_as_it_is(shape, {.workers = 2, .schedulers = 1, .window = 2, .length = 7},
                                 commit));
    BOOST_TEST(goes_on_as_it_is(shape, {2, 1, 2, 1e-6}, commit_at_10()));
    BOOST_TEST(!goes_on_as_it_is(shape, {2, 1, 3, 0}, commit_at_10()));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    auto commit = commit_at_10();
    commit[1].number = 11;
    BOOST_TEST(!carry_over(as_it_is(), site_of(2, 1, 2), site_of(2, 1, 4), commit).ok());
    BOOST_TEST(!carry_over(as_it_is(), site_of(3, 1, 2), site_of(2, 1, 4), commit_at_10()).ok());
    const auto more = carry_over(as_it_is(), site_of(2, 1, 2), site_of(3, 1, 4), commit_at_10());
    BOOST_REQUIRE(!more.ok());
    BOOST_TEST(more.failure().message().find("correct the program") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_a_program_throws_is_a_sentence_with_its_name) {
    program p = as_it_is();
    p.carry_over = [](const carried_site&, const carried_site&, carried_run&) -> result<void> {
        throw std::out_of_range{"no such member"};
    };
    const auto carried = carry_over(p, site_of(2, 1, 2), site_of(2, 1, 0), commit_at_10());
    BOOST_REQUIRE(!carried.ok());
    BOOST_TEST(
        carried.failure().message() ==
        "program as it is: carry_over of the program has thrown an exception: no such member");
}

BOOST_AUTO_TEST_SUITE_END()

// Where a run is, and whether an actor does not get over a phase.
#include <boost/test/unit_test.hpp>

#include "actors/scheduled/program_course.hpp"
#include "actors/scheduled/repeated_losses.hpp"

using namespace troupe::scheduled;

namespace {

program_course running() {
    program_course course;
    course.actors_are_there();
    course.data_is_dealt();
    course.all_are_ready();
    return course;
}

} // namespace

BOOST_AUTO_TEST_SUITE(courses_of_runs)

BOOST_AUTO_TEST_CASE(phases_are_under_way_from_the_start_of_all_on) {
    program_course course;
    BOOST_TEST(course.name() == "spawning");
    BOOST_TEST(course.is_spawning());
    course.actors_are_there();
    BOOST_TEST(course.name() == "dealing");
    BOOST_TEST(course.is_dealing());
    course.data_is_dealt();
    BOOST_TEST(course.name() == "starting");
    BOOST_TEST(course.is_starting());
    BOOST_TEST(!course.are_phases_under_way());
    BOOST_TEST(!course.can_replay());
    course.all_are_ready();
    BOOST_TEST(course.name() == "running");
    BOOST_TEST(course.are_phases_under_way());
    BOOST_TEST(!course.is_of_lost_workers());
    course.all_have_ended();
    BOOST_TEST(course.name() == "writing");
    BOOST_TEST(course.is_over());
    BOOST_TEST(!course.are_phases_under_way());
    course.finish();
    BOOST_TEST(course.name() == "finished");
    BOOST_TEST(course.is_over());
}

BOOST_AUTO_TEST_CASE(phases_go_on_while_lost_workers_are_replaced) {
    program_course course = running();
    for (int loss = 0; loss < 2; ++loss) {
        BOOST_TEST(course.can_replay());
        course.actors_are_lost(true);
        BOOST_TEST(course.name() == "respawning");
        BOOST_TEST(course.is_spawning());
        course.actors_are_there();
        BOOST_TEST(course.name() == "redealing");
        BOOST_TEST(course.is_dealing());
        BOOST_TEST(course.can_replay());
        BOOST_TEST(course.are_phases_under_way());
    }
    course.data_is_dealt();
    BOOST_TEST(course.name() == "rejoining");
    BOOST_TEST(course.is_starting());
    BOOST_TEST(course.is_of_lost_workers());
    BOOST_TEST(course.are_phases_under_way());
    BOOST_TEST(!course.can_replay()); // schedulers are being told of these
    course.all_are_ready();
    BOOST_TEST(course.name() == "running");
}

BOOST_AUTO_TEST_CASE(all_go_back_where_nobody_can_replay) {
    program_course course = running();
    course.actors_are_lost(true);
    course.actors_are_there();
    course.data_is_dealt();
    program_course forgotten = course;
    course.actors_are_lost(false);
    BOOST_TEST(course.name() == "spawning");
    BOOST_TEST(!course.are_phases_under_way());
    forgotten.phases_are_forgotten();
    BOOST_TEST(forgotten.name() == "starting");
    BOOST_TEST(!forgotten.are_phases_under_way());
}

BOOST_AUTO_TEST_CASE(a_third_loss_of_one_actor_without_a_phase_between_is_one_too_many) {
    static_assert(repeated_losses::in_succession_max == 3);
    repeated_losses losses;
    BOOST_TEST(losses.add({0, 1}, 500).empty());
    BOOST_TEST(losses.add({0, 1}, 500).empty());
    BOOST_TEST(losses.add({0}, 501).empty()); // it got on
    BOOST_TEST((losses.add({1, 2}, 500) == std::vector<std::size_t>{1}));
    BOOST_TEST(losses.add({0}, 501).empty());
    BOOST_TEST((losses.add({0}, 501) == std::vector<std::size_t>{0}));
}

BOOST_AUTO_TEST_SUITE_END()

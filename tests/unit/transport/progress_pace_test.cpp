#include <boost/test/unit_test.hpp>

#include "transport/node/progress_pace.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

constexpr time_point start{std::chrono::nanoseconds{1h}.count()};

struct one_pace {
    progress_pace pace{30us, 1ms};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(progress_paces, one_pace)

BOOST_AUTO_TEST_CASE(it_polls_for_a_moment_after_work) {
    pace.worked(start);
    BOOST_TEST(pace.keeps_polling(start + 29us));
    BOOST_TEST(!pace.keeps_polling(start + 30us));
}

BOOST_AUTO_TEST_CASE(after_a_long_yield_it_does_not_poll_for_a_hundred_times_as_long) {
    pace.yielded(start, start + 1ms); // not longer than allowed
    pace.worked(start + 1ms);
    BOOST_TEST(pace.keeps_polling(start + 1ms));
    pace.yielded(start, start + 2ms);
    pace.worked(start + 201ms);
    BOOST_TEST(!pace.keeps_polling(start + 201ms));
    pace.worked(start + 202ms);
    BOOST_TEST(pace.keeps_polling(start + 202ms));
}

BOOST_AUTO_TEST_CASE(nor_for_more_than_a_second) {
    pace.yielded(start, start + 1min);
    pace.worked(start + 1min + 1s);
    BOOST_TEST(pace.keeps_polling(start + 1min + 1s));
}

BOOST_AUTO_TEST_CASE(it_looks_for_news_for_a_microsecond_between_two_yields) {
    BOOST_TEST(pace.yield_is_due(start));
    pace.yielded(start, start);
    BOOST_TEST(!pace.yield_is_due(start + 999ns));
    BOOST_TEST(pace.yield_is_due(start + 1us));
}

BOOST_AUTO_TEST_CASE(what_is_done_from_time_to_time_is_due_at_once_and_then_again) {
    BOOST_TEST((pace.sockets_are_due(start) && pace.sign_of_life_is_due(start)));
    pace.sockets_polled(start);
    pace.said_alive(start);
    BOOST_TEST((!pace.sockets_are_due(start + 999us) && pace.sockets_are_due(start + 1ms)));
    BOOST_TEST(
        (!pace.sign_of_life_is_due(start + 499ms) && pace.sign_of_life_is_due(start + 500ms)));
}

BOOST_AUTO_TEST_CASE(it_sleeps_until_the_first_of_its_reasons) {
    BOOST_TEST(!sleep_limit({}));
    BOOST_TEST((sleep_limit({.is_under_way = true, .retry = 1ms, .time_left = 1s}) == 100us));
    BOOST_TEST((sleep_limit({.is_under_way = false, .retry = 1ms, .time_left = 1s}) == 1ms));
    BOOST_TEST((sleep_limit({.is_under_way = false, .retry = {}, .time_left = 5ms}) == 6ms));
    BOOST_TEST((sleep_limit({.is_under_way = false, .retry = {}, .time_left = 1min}) == 1s));
    BOOST_TEST((sleep_limit({.is_under_way = false, .retry = {}, .time_left = -1min}) == 0s));
}

BOOST_AUTO_TEST_SUITE_END()

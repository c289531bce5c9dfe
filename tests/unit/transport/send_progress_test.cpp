#include <boost/test/unit_test.hpp>

#include "transport/send_progress.hpp"

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(send_progresses)

namespace {
constexpr time_point start{};
constexpr std::uint64_t megabyte = 1'000'000;
} // namespace

BOOST_AUTO_TEST_CASE(a_send_may_take_what_its_bytes_take_at_the_slowest_rate) {
    send_progress p;
    BOOST_TEST(!p.is_stuck({.oldest = 0, .bytes = 20 * megabyte}, 5s, start));
    BOOST_TEST(!p.is_stuck({.oldest = 0, .bytes = 20 * megabyte}, 5s, start + 25s));
    BOOST_TEST(p.is_stuck({.oldest = 0, .bytes = 20 * megabyte}, 5s, start + 26s));
}

BOOST_AUTO_TEST_CASE(each_send_has_its_own_time) {
    send_progress p;
    for (int i = 0; i < 10; ++i)
        BOOST_TEST(!p.is_stuck({.oldest = static_cast<std::uint64_t>(i), .bytes = megabyte}, 5s,
                               start + 20s * i));
}

BOOST_AUTO_TEST_CASE(what_overtakes_a_stuck_send_is_no_progress) {
    send_progress p;
    bool stuck = false;
    for (int i = 0; i < 60 && !stuck; ++i) // heartbeats come and go
        stuck =
            p.is_stuck({.oldest = 3, .bytes = megabyte + 100u * (i % 2)}, 5s, start + 500ms * i);
    BOOST_TEST(stuck);
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include "transport/send_window.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(send_windows)

BOOST_AUTO_TEST_CASE(congested_above_the_soft_bound_and_writable_once_at_half) {
    send_window w{{.bytes_soft = 100, .bytes_hard = 1000, .frames_soft = 10}};
    BOOST_TEST(!w.add(60));
    BOOST_TEST(w.add(60));
    BOOST_TEST(!w.remove(60)); // 60 left, half is 50
    BOOST_TEST(w.add(10));     // still congested: its sender waits as well
    BOOST_TEST(w.remove(60));
    BOOST_TEST(!w.remove(10)); // said once
    BOOST_TEST(w.bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(many_empty_frames_congest_too) {
    send_window w{{.bytes_soft = 100, .bytes_hard = 1000, .frames_soft = 2}};
    BOOST_TEST(!w.add(0));
    BOOST_TEST(!w.add(0));
    BOOST_TEST(w.add(0));
    BOOST_TEST(!w.remove(0));
    BOOST_TEST(w.remove(0));
}

BOOST_AUTO_TEST_CASE(the_hard_bound_includes_the_frame_to_come) {
    send_window w{{.bytes_soft = 100, .bytes_hard = 1000, .frames_soft = 2}};
    w.add(900);
    BOOST_TEST(!w.overflows_with(100));
    BOOST_TEST(w.overflows_with(101));
}

BOOST_AUTO_TEST_SUITE_END()

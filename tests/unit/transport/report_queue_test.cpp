#include <boost/test/unit_test.hpp>

#include "tests/unit/transport/recording_listener.hpp"
#include "transport/node/report_queue.hpp"

using namespace troupe;

namespace {

struct one_queue {
    recording_listener listener;
    report_queue reports;
    const node_id peer{5};

    one_queue() { reports.start(listener); }
    void writable(node_id node) {
        reports.add([node](endpoint_listener& l) { l.peer_writable(node); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(report_queues, one_queue)

BOOST_AUTO_TEST_CASE(frames_and_calls_are_delivered_once_and_in_order) {
    BOOST_TEST(!reports.deliver());
    reports.add_frame(peer, numbered_frame(1));
    writable(peer);
    reports.add_frame(peer, numbered_frame(2));
    BOOST_TEST(reports.deliver());
    BOOST_TEST(!reports.deliver());
    BOOST_TEST(listener.lines == (std::vector<std::string>{"frame 5 1", "writable 5", "frame 5 2"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_delivery_leads_to_is_delivered_by_the_next) {
    listener.on_frame = [&](node_id from, const frame_ptr&) { writable(from); };
    reports.add_frame(peer, numbered_frame(1));
    reports.add_frame(peer, numbered_frame(2));
    BOOST_TEST(reports.deliver());
    BOOST_TEST(listener.lines.size() == 2u);
    BOOST_TEST(reports.deliver());
    BOOST_TEST(listener.lines.size() == 4u);
    BOOST_TEST(listener.lines.back() == "writable 5");
}

BOOST_AUTO_TEST_CASE(what_is_dropped_is_never_delivered) {
    writable(peer);
    BOOST_TEST(reports.drop());
    BOOST_TEST(!reports.drop());
    BOOST_TEST(!reports.deliver());
    BOOST_TEST(listener.lines.empty());
}

BOOST_AUTO_TEST_SUITE_END()

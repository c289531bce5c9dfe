#include <boost/test/unit_test.hpp>

#include <vector>

#include "transport/sim/event_queue.hpp"

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(event_queues)

BOOST_AUTO_TEST_CASE(events_run_in_order_of_time_and_then_of_scheduling) {
    event_queue q;
    std::vector<int> order;
    q.schedule_after(2ms, [&] { order.push_back(3); });
    q.schedule_after(1ms, [&] { order.push_back(1); });
    q.schedule_after(1ms, [&] { order.push_back(2); });
    while (q.run_next()) {
    }
    BOOST_TEST(order == (std::vector{1, 2, 3}));
    BOOST_TEST(q.now().ns == 2000000);
}

BOOST_AUTO_TEST_CASE(an_action_may_schedule_and_cancel) {
    event_queue q;
    std::vector<int> order;
    const event_id later = q.schedule_after(5ms, [&] { order.push_back(5); });
    q.schedule_after(1ms, [&] {
        q.schedule_after(1ms, [&] { order.push_back(2); });
        BOOST_TEST(q.cancel(later));
    });
    while (q.run_next()) {
    }
    BOOST_TEST(order == (std::vector{2}));
    BOOST_TEST(!q.cancel(later));
}

BOOST_AUTO_TEST_CASE(the_past_is_now) {
    event_queue q;
    q.run_until({1000});
    bool ran = false;
    q.schedule_at({10}, [&] { ran = true; });
    q.run_next();
    BOOST_TEST(ran);
    BOOST_TEST(q.now().ns == 1000);
}

BOOST_AUTO_TEST_CASE(running_until_a_time_stops_there) {
    event_queue q;
    int count = 0;
    for (int i = 1; i <= 10; ++i)
        q.schedule_after(i * 1ms, [&] { ++count; });
    BOOST_TEST(q.run_for(4500us) == 4u);
    BOOST_TEST(q.now().ns == 4500000);
    BOOST_TEST(q.next_time()->ns == 5000000);
    BOOST_TEST(count == 4);
}

BOOST_AUTO_TEST_SUITE_END()

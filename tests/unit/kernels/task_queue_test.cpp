#include <boost/test/unit_test.hpp>

#include <string>

#include "kernels/device/task_queue.hpp"

using namespace troupe;

namespace {

// Of an owner and an priority for each: in which order they come out, by their places.
std::string order_of(std::initializer_list<std::pair<std::uint64_t, task_priority>> tasks) {
    task_queue queue;
    double place = 0;
    for (const auto& [owner, priority] : tasks)
        queue.push({.cost_hint = place++, .owner = owner, .priority = priority});
    std::string order;
    while (!queue.empty())
        order += std::to_string(static_cast<int>(queue.pop().cost_hint));
    return order;
}

constexpr task_priority last = task_priority::last, usual = task_priority::usual,
                        soon = task_priority::soon;

} // namespace

BOOST_AUTO_TEST_SUITE(task_queues)

BOOST_AUTO_TEST_CASE(tasks_of_equal_urgency_come_out_as_they_came) {
    BOOST_TEST(order_of({{1, usual}, {2, usual}, {1, usual}, {3, usual}}) == "0123");
}

BOOST_AUTO_TEST_CASE(the_more_urgent_of_another_owner_comes_first) {
    BOOST_TEST(order_of({{1, usual}, {1, usual}, {2, soon}, {3, soon}}) == "2301");
}

BOOST_AUTO_TEST_CASE(no_task_overtakes_one_of_its_owner) {
    BOOST_TEST(order_of({{1, usual}, {1, soon}, {2, usual}}) == "012");
    BOOST_TEST(order_of({{1, usual}, {2, usual}, {1, soon}, {2, soon}}) == "0213");
}

BOOST_AUTO_TEST_CASE(what_waits_for_all_comes_last) {
    BOOST_TEST(order_of({{0, last}, {1, usual}, {2, soon}, {1, usual}}) == "2130");
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <future>
#include <thread>
#include <vector>

#include "kernels/cpu/cpu_device.hpp"
#include "kernels/device/slowed_device.hpp"
#include "kernels/ops/ops.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(cpu_devices)

BOOST_AUTO_TEST_CASE(work_runs_in_order_on_one_thread_and_each_completion_follows_its_work) {
    const monotonic_time time;
    std::vector<int> events; // written by the worker only until it is joined
    std::vector<std::thread::id> threads;
    {
        auto cpu = make_cpu_device({.index = 3, .memory_bytes_max = 1 << 20}, time).value();
        BOOST_TEST(cpu->name() == "cpu:3");
        for (int i = 0; i < 50; ++i)
            cpu->submit({[&, i](compute_context& context) -> result<void> {
                             threads.push_back(std::this_thread::get_id());
                             events.push_back(i);
                             BOOST_REQUIRE(&context.memory == &cpu->memory());
                             return {};
                         },
                         [&, i](result<void> outcome, duration busy) {
                             BOOST_REQUIRE(outcome.ok());
                             BOOST_REQUIRE(busy.count() >= 0);
                             events.push_back(i);
                         }});
    } // destruction finishes what was submitted
    BOOST_REQUIRE(events.size() == 100u);
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(events[static_cast<std::size_t>(i)] == i / 2);
    for (const auto thread : threads)
        BOOST_TEST((thread == threads[0] && thread != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(a_failure_reaches_its_completion_and_later_work_still_runs) {
    const monotonic_time time;
    auto cpu = make_cpu_device({.memory_bytes_max = 1 << 20}, time).value();
    std::promise<errc> failed;
    std::promise<bool> worked;
    cpu->submit(
        {[](compute_context& context) -> result<void> {
             auto memory = context.memory.allocate(2 << 20);
             return memory ? result<void>{} : memory.failure();
         },
         [&](result<void> outcome, duration) { failed.set_value(outcome.failure().code()); }});
    cpu->submit({[](compute_context&) -> result<void> { return {}; },
                 [&](result<void> outcome, duration) { worked.set_value(outcome.ok()); }});
    BOOST_TEST((failed.get_future().get() == errc::exhausted));
    BOOST_TEST(worked.get_future().get());
}

BOOST_AUTO_TEST_CASE(
    a_device_that_is_slowed_down_takes_so_many_times_as_long_for_the_same_results) {
    const monotonic_time time;
    const std::shared_ptr<device> cpu =
        make_cpu_device({.memory_bytes_max = 1 << 20}, time).value();
    BOOST_TEST(slow_down(cpu, 1, time) == cpu);
    const auto slow = slow_down(cpu, 4, time);
    BOOST_TEST(slow->name() == "cpu:0");
    duration alone{};
    std::promise<std::pair<errc, duration>> ended;
    slow->submit({[&](compute_context&) -> result<void> {
                      const time_point began = time.now();
                      std::this_thread::sleep_for(std::chrono::milliseconds{5});
                      alone = time.now() - began;
                      return error{errc::usage, "as it comes"};
                  },
                  [&](result<void> outcome, duration busy) {
                      ended.set_value({outcome.failure().code(), busy});
                  }});
    const auto [code, busy] = ended.get_future().get();
    BOOST_TEST((code == errc::usage));
    BOOST_TEST((busy >= 4 * alone));
}

BOOST_AUTO_TEST_CASE(the_work_has_let_go_of_its_tensors_when_its_completion_is_called) {
    const monotonic_time time;
    auto cpu = make_cpu_device({.memory_bytes_max = 1 << 20}, time).value();
    tensor t = tensor::allocate(cpu->memory(), data_type::float32, {4}).value();
    std::promise<bool> unique;
    cpu->submit({[copy = t](compute_context&) -> result<void> { return {}; },
                 [&](result<void>, duration) { unique.set_value(t.unique()); }});
    BOOST_TEST(unique.get_future().get());
}

BOOST_AUTO_TEST_CASE(a_core_that_does_not_exist_is_refused_by_name) {
    const monotonic_time time;
    auto refused = make_cpu_device({.index = 1, .core = 100000}, time);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.failure().message().starts_with("cpu:1 cannot run on core 100000"));
    BOOST_TEST(make_cpu_device({.core = 0}, time).ok());
}

BOOST_AUTO_TEST_SUITE_END()

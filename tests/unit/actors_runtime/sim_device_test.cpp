#include <boost/test/unit_test.hpp>

#include "actors/runtime/simulator.hpp"
#include "kernels/reference/reference.hpp"

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(sim_devices)

BOOST_AUTO_TEST_CASE(work_completes_in_order_after_its_modelled_time) {
    const auto ops = make_reference_operations();
    simulator sim{{}};
    node_runtime& node = sim.add_node("a");
    sim_device& device = sim.add_device(node, {.flops_per_second = 1e9, .jitter = 0}, *ops);
    std::vector<int> worked, done;
    std::vector<std::int64_t> at;
    const auto submit = [&](int number, double cost) {
        device.submit({.work = [&, number](compute_context&) -> result<void> {
                           worked.push_back(number);
                           if (number == 2)
                               return error{errc::numeric, "not a number"};
                           return {};
                       },
                       .done =
                           [&, number](result<void> outcome, duration) {
                               BOOST_TEST(outcome.ok() == (number != 2));
                               done.push_back(number);
                               at.push_back(sim.now().ns);
                           },
                       .cost_hint = cost});
    };
    BOOST_TEST(device.modelled_time(1e6)->count() == 1'000'000);
    submit(1, 1e6); // 1 ms
    submit(2, 2e6); // 2 ms
    submit(3, 1.0); // the least time that a task takes
    sim.run_for(1s);
    BOOST_TEST(worked == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(done == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(at == (std::vector<std::int64_t>{1'000'000, 3'000'000, 3'005'000}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stopped_node_hears_of_its_work_when_it_goes_on) {
    const auto ops = make_reference_operations();
    simulator sim{{}};
    node_runtime& node = sim.add_node("a");
    sim_device& device = sim.add_device(node, {.flops_per_second = 1e9}, *ops);
    bool done = false;
    device.submit({.work = [](compute_context&) -> result<void> { return {}; },
                   .done = [&](result<void>, duration) { done = true; },
                   .cost_hint = 1e6});
    sim.stop(node);
    sim.run_for(1s);
    BOOST_TEST(!done);
    sim.resume(node);
    BOOST_TEST(done);
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <string>

#include "tests/sim/relay_workload.hpp"
#include "tests/support/other_process.hpp"

using namespace troupe;

namespace {

constexpr relay_faults every_kind[] = {relay_faults::none, relay_faults::network,
                                       relay_faults::all};

std::string hash_of_another_process(std::uint64_t seed, relay_faults faults) {
    return test::line_of(std::string{RELAY_HASH_PROGRAM} + " " + std::to_string(seed) + " " +
                         std::to_string(static_cast<int>(faults)));
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_simulation)

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_trace) {
    for (const relay_faults faults : every_kind) {
        const relay_outcome once = run_relay(7, faults);
        const relay_outcome again = run_relay(7, faults);
        BOOST_TEST(once.trace_hash == again.trace_hash);
        BOOST_TEST(once.messages == again.messages);
        BOOST_TEST(once.messages > 10000u);
        BOOST_TEST(once.arrived > 300u);
    }
}

BOOST_AUTO_TEST_CASE(another_seed_gives_another_trace) {
    for (const relay_faults faults : every_kind)
        BOOST_TEST(run_relay(1, faults).trace_hash != run_relay(2, faults).trace_hash);
}

BOOST_AUTO_TEST_CASE(two_processes_with_the_same_seed_give_the_same_trace) {
    for (const relay_faults faults : every_kind) {
        const std::string first = hash_of_another_process(7, faults);
        BOOST_TEST(first.size() == 17u);
        BOOST_TEST(first == hash_of_another_process(7, faults));
    }
}

BOOST_AUTO_TEST_CASE(the_faults_do_happen_and_the_cluster_notices) {
    BOOST_TEST(run_relay(3, relay_faults::none).retransmitted == 0u);
    BOOST_TEST(run_relay(3, relay_faults::network).retransmitted > 100u);
    const relay_outcome worst = run_relay(3, relay_faults::all);
    BOOST_TEST(worst.lost_nodes >=
               6 + 2u); // the killed node by six or seven, the partitioned pair by each other
}

BOOST_AUTO_TEST_SUITE_END()

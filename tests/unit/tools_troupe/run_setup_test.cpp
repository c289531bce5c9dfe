// The devices that a run begins with, and advice on their memory.
#include <boost/test/unit_test.hpp>

#include "tools/troupe/run_setup.hpp"

using namespace troupe;
using namespace troupe::cli;

BOOST_AUTO_TEST_SUITE(run_setups)

BOOST_AUTO_TEST_CASE(nodes_of_a_run_have_a_device_each) {
    const auto devices = devices_of_nodes(2, 1000);
    BOOST_TEST_REQUIRE(devices.size() == 2u);
    BOOST_TEST(devices[1].node_name == "node-1");
    BOOST_TEST(devices[1].device == "cpu:0");
    BOOST_TEST(devices[1].memory_bytes == 1000u);
    BOOST_TEST((devices[0].node != devices[1].node));
}

BOOST_AUTO_TEST_CASE(devices_of_one_process_are_those_of_its_option_on_one_node) {
    const auto devices = devices_of_process(parse_devices("cpu:2").value());
    BOOST_TEST_REQUIRE(devices.size() == 2u);
    BOOST_TEST(devices[0].node_name == "local");
    BOOST_TEST(devices[1].device == "cpu:1");
    BOOST_TEST((devices[0].node == devices[1].node));
}

BOOST_AUTO_TEST_CASE(advice_on_memory_names_the_command_whose_option_bounds_it) {
    run_options own;
    BOOST_TEST(advice_on_memory(own).of_host == ", or a larger bound: --memory-mb");
    BOOST_TEST(advice_on_memory(own).of_gpus == ""); // all that is free is theirs
    own.gpu_memory_mb = 100;
    BOOST_TEST(advice_on_memory(own).of_gpus == ", or a larger bound: --gpu-memory-mb");
    run_options on_cluster;
    on_cluster.cluster = "127.0.0.1:4711";
    BOOST_TEST(advice_on_memory(on_cluster).of_host ==
               ", or start nodes with a larger bound: troupe node --memory-mb");
    BOOST_TEST(advice_on_memory(on_cluster).of_gpus ==
               ", or start nodes with a larger bound: troupe node --gpu-memory-mb");
}

BOOST_AUTO_TEST_SUITE_END()

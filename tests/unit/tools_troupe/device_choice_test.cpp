// The value of --devices, and the notes on devices that belong to it.
#include <boost/test/unit_test.hpp>

#include <thread>

#include "tools/troupe/device_choice.hpp"

using namespace troupe;
using namespace troupe::cli;

namespace {

std::string refusal(const std::string& text) {
    const auto chosen = parse_devices(text);
    BOOST_REQUIRE_MESSAGE(!chosen, text << " is taken");
    BOOST_TEST((chosen.failure().code() == errc::usage));
    return chosen.failure().message();
}

plan_device on(const std::string& node, const std::string& instruction_set) {
    plan_device d;
    d.node_name = node;
    d.device = "cpu:0";
    d.instruction_set = instruction_set;
    return d;
}

} // namespace

BOOST_AUTO_TEST_SUITE(device_choices)

BOOST_AUTO_TEST_CASE(gpus_come_first_and_processors_are_counted) {
    const auto chosen = parse_devices("cpu:2,cuda:1,cuda:0");
    BOOST_REQUIRE(chosen.ok());
    const std::vector<std::string> names{"cuda:1", "cuda:0", "cpu:0", "cpu:1"};
    BOOST_TEST(chosen->names() == names, boost::test_tools::per_element());
    BOOST_TEST(parse_devices("cpu:1024")->names().size() == 1024u);
}

BOOST_AUTO_TEST_CASE(a_word_that_names_no_device_is_refused_by_itself) {
    for (const char* text : {"", "cpu", "cpu:", "cpu:0", "cpu:1025", "cpu:-1", "cpu:1x", "cpu: 1",
                             "cuda", "cuda:64", "cuda:all", "gpu:0", "CPU:1", "cpu:1,", ",cpu:1",
                             "cpu:1;cuda:0", "cpu:99999999999999999999"})
        BOOST_TEST(refusal(text).starts_with("--devices: '"), text);
    BOOST_TEST(refusal("cpu:1,gpu:0").find("'gpu:0' is not cpu:N") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_named_twice_is_refused) {
    BOOST_TEST(refusal("cpu:1,cpu:1").find("comes after another cpu:N") != std::string::npos);
    BOOST_TEST(refusal("cuda:0,cpu:1,cuda:0").find("comes after itself") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_devices_than_cores_are_noted) {
    const unsigned cores = std::thread::hardware_concurrency();
    BOOST_TEST(note_of_cores(1).empty());
    BOOST_TEST(note_of_cores(cores).empty());
    if (cores > 0)
        BOOST_TEST(note_of_cores(cores + 1).starts_with(std::to_string(cores + 1) +
                                                        " devices share the "));
}

BOOST_AUTO_TEST_CASE(different_instruction_sets_are_noted_with_their_nodes) {
    const std::vector<plan_device> same{on("a", "AVX2"), on("b", "AVX2"), on("c", "")};
    BOOST_TEST(note_of_instruction_sets(same).empty()); // a GPU has none
    const std::vector<plan_device> mixed{on("b", "AVX2"), on("a", "AVX2"), on("c", "AVX512_CORE")};
    const std::string note = note_of_instruction_sets(mixed);
    BOOST_TEST(note.find("AVX2 on a, b; AVX512_CORE on c") != std::string::npos, note);
}

BOOST_AUTO_TEST_SUITE_END()

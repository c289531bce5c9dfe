// Limits of the process around a node: settings of UCX, file descriptors.
#include <sys/resource.h>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>

#include "tests/conformance/transport_world.hpp"

using namespace troupe;
using namespace troupe::conformance;
using ucx_worlds = boost::mpl::list<shm_world, tcp_world, sealed_world>;

namespace {

// A variable of this process's environment, while this object lives.
class environment_variable {
  public:
    environment_variable(const char* name, const char* value) : name_{name} {
        setenv(name, value, 1);
    }
    ~environment_variable() { unsetenv(name_); }
    environment_variable(const environment_variable&) = delete;
    environment_variable& operator=(const environment_variable&) = delete;

  private:
    const char* name_;
};

std::ptrdiff_t descriptors_of_this_process() {
    const std::filesystem::directory_iterator open{"/proc/self/fd"};
    return std::distance(begin(open), end(open));
}

} // namespace

BOOST_AUTO_TEST_SUITE(ucx_transport)

BOOST_AUTO_TEST_CASE(nodes_whose_ucx_writes_addresses_in_another_way_use_tcp_and_say_why) {
    const environment_variable with_names{"UCX_ADDRESS_DEBUG_INFO", "y"};
    node_world w{link_transports::automatic};
    std::vector<std::string> said;
    node a = w.add_with(
        {.name = "a", .log = [&](const std::string& sentence) { said.push_back(sentence); }});
    node b = w.add("b");
    w.join(b, a);
    BOOST_TEST(a.heard->ups().back().over == "tcp");
    a.end->close();
    BOOST_TEST_REQUIRE(said.size() == 1u);
    for (const char* part : {"go over TCP", "cannot check (it is not in the format of UCX 1.13)"})
        BOOST_TEST(said[0].find(part) != std::string::npos, said[0]);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(frames_arrive_though_ucx_announces_the_smallest, World, ucx_worlds) {
    const environment_variable announced_from{"UCX_RNDV_THRESH", "0"};
    World w;
    node_settings few_at_once{.name = "a"};
    few_at_once.bounds.frames_soft = 4;
    node a = w.add_with(few_at_once);
    node b = w.add("b");
    w.join(a, b);
    const std::vector<std::vector<std::size_t>> tensors{{}, {0}, {1000}, {0, 7}, {1u << 20}};
    for (std::size_t i = 0; i < tensors.size(); ++i)
        a.end->send(b.id, conformance::numbered_frame(w.pool, i, tensors[i]));
    a.end->send(b.id, conformance::numbered_frame(w.pool, tensors.size(), {}, 100'000));
    BOOST_TEST_REQUIRE(w.wait_for([&] { return b.heard->frame_count() == tensors.size() + 1; }));
    for (std::size_t i = 0; i < tensors.size(); ++i)
        BOOST_TEST(is_numbered(*b.heard->frames()[i].second, i, tensors[i]));
    const std::size_t writables = a.heard->writables();
    while (a.end->send(b.id, conformance::numbered_frame(w.pool, 0)) != send_status::congested) {
    }
    BOOST_TEST(w.wait_for([&] { return a.heard->writables() > writables; })); // they have arrived
}

BOOST_AUTO_TEST_CASE(too_few_file_descriptors_are_an_error_that_says_so) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const auto limited_to = [&](rlim_t files) {
        const rlimit limit{files, before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &limit);
    };
    shm_world w;
    node a = w.add("a");
    node b = w.add("b");
    limited_to(static_cast<rlim_t>(descriptors_of_this_process()) +
               6); // of which the control connection takes two
    a.end->connect(b.end->address());
    const bool is_told = w.wait_for([&] { return a.heard->failures().size() == 1; });
    limited_to(63);
    const auto made = w.make({.name = "c"}, 3);
    setrlimit(RLIMIT_NOFILE, &before);
    BOOST_TEST(is_told);
    BOOST_TEST(a.heard->last_reason().find("no file descriptors are left for a link") !=
                   std::string::npos,
               a.heard->last_reason());
    BOOST_TEST_REQUIRE(!made.ok());
    BOOST_TEST(made.failure().message().find("ulimit -n") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

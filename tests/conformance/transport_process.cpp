// The process around a node: settings of UCX, file descriptors, sockets.
#include <sys/resource.h>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

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

// The sockets of this process on which somebody listens, as the system knows them: their inodes.
std::set<std::string> listening_sockets() {
    std::set<std::string> listening;
    for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
        std::ifstream in{table};
        std::string line;
        std::getline(in, line);
        while (std::getline(in, line)) {
            std::istringstream fields{line};
            std::string field[10];
            for (std::string& f : field)
                fields >> f;
            if (field[3] == "0A")
                listening.insert("socket:[" + field[9] + "]");
        }
    }
    std::set<std::string> own;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code none;
        const auto target = std::filesystem::read_symlink(entry.path(), none).string();
        if (listening.contains(target))
            own.insert(target);
    }
    return own;
}

} // namespace

BOOST_AUTO_TEST_SUITE(ucx_transport)

// UCX would write beyond the end of a smaller segment of its peer.
BOOST_AUTO_TEST_CASE(a_node_whose_ucx_has_other_settings_is_reached_over_tcp) {
    node_world w{link_transports::automatic};
    std::vector<std::string> said;
    node a = w.add_with(
        {.name = "a", .log = [&](const std::string& sentence) { said.push_back(sentence); }});
    std::unique_ptr<echo_peer> other;
    {
        const environment_variable smaller{"UCX_POSIX_FIFO_SIZE", "128"};
        other = w.start_echo();
    }
    a.end->send(w.join(a, *other), numbered_frame(w.pool, 1, {100}));
    BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->frame_count() == 1; }));
    BOOST_TEST(a.heard->ups().back().over == "tcp");
    BOOST_TEST_REQUIRE(said.size() == 1u);
    BOOST_TEST(said[0].find("do not go over shared memory: its UCX has other transports") !=
                   std::string::npos,
               said[0]);
}

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

BOOST_AUTO_TEST_CASE(a_node_listens_at_one_socket_whatever_links_it_has) {
    const auto before = listening_sockets().size();
    for (const auto transports : {link_transports::automatic, link_transports::tcp}) {
        node_world w{transports};
        node a = w.add("a");
        node b = w.add("b");
        w.join(a, b);
        a.end->send(b.id, conformance::numbered_frame(w.pool, 1, {1u << 20}));
        BOOST_TEST_REQUIRE(w.wait_for([&] { return b.heard->frame_count() == 1; }));
        BOOST_TEST(listening_sockets().size() == before + 2); // one for each node
        b.heard->forget_frames();
    }
}

BOOST_AUTO_TEST_SUITE_END()

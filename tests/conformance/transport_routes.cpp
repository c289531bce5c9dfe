// Which way frames between two nodes go over: what their hellos agree upon, and what they then use.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <csignal>
#include <iostream>

#include "tests/conformance/hostile_peer.hpp"
#include "tests/conformance/transport_world.hpp"
#include "transport/node/memory_mark.hpp"
#include "transport/tcp/control_connection.hpp"

using namespace troupe;
using namespace troupe::conformance;

namespace {

// While it lives, this process can make no file of more than a page, so that its nodes find no room for shared memory.
class no_room {
  public:
    no_room() {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit page{4096, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &page);
    }
    ~no_room() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, SIG_DFL);
    }
    no_room(const no_room&) = delete;
    no_room& operator=(const no_room&) = delete;

  private:
    rlimit before_{};
};

} // namespace

BOOST_AUTO_TEST_SUITE(ways_of_links)

BOOST_AUTO_TEST_CASE(who_sends_over_another_transport_is_refused_with_its_name) {
    shm_world shm;
    tcp_world tcp;
    node a = shm.add("a");
    node b = tcp.add("b");
    a.end->connect(b.end->address());
    BOOST_TEST(shm.wait_for([&] { return a.heard->failures().size() == 1; }));
    BOOST_TEST(a.heard->last_reason() == "it sends over tcp, this node over shared memory; give "
                                         "--transport auto to both");
    b.end->connect(a.end->address());
    BOOST_TEST(tcp.wait_for([&] { return b.heard->failures().size() == 1; }));
    BOOST_TEST(b.heard->last_reason() == "it sends over shared memory, this node over tcp; give "
                                         "--transport auto to both");
    for (const node* n : {&a, &b}) {
        BOOST_TEST((n->heard->failures() == std::vector{errc::refused}));
        BOOST_TEST(n->heard->ups().empty());
    }
}

BOOST_AUTO_TEST_CASE(nodes_that_may_use_all_use_what_the_other_can_and_say_so) {
    node_world any{link_transports::automatic};
    shm_world shm;
    tcp_world tcp;
    node hub = any.add("hub");
    const std::vector<std::pair<node_world*, std::string>> others{
        {&any, "shared memory"}, {&shm, "shared memory"}, {&tcp, "tcp"}};
    for (const auto& [world, route] : others) {
        node n = world->add("n");
        world->join(n, hub);
        BOOST_TEST(n.heard->ups()[0].over == route);
        BOOST_TEST(hub.heard->ups().back().over == route);
        n.end->send(hub.id, conformance::numbered_frame(world->pool, 3, {1u << 20}));
        BOOST_TEST_REQUIRE(world->wait_for([&] { return hub.heard->frame_count() == 1; }));
        BOOST_TEST(is_numbered(*hub.heard->frames()[0].second, 3, {1u << 20}));
        hub.heard->forget_frames();
    }
}

BOOST_AUTO_TEST_CASE(an_observer_is_served_over_tcp_whatever_nodes_use) {
    for (const auto transports :
         {link_transports::automatic, link_transports::shm, link_transports::tcp}) {
        node_world w{transports};
        node a = w.add("a");
        node observer = w.add_with({.name = "o", .role = peer_role::observer});
        w.join(observer, a);
        BOOST_TEST(a.heard->ups()[0].over == "tcp");
        BOOST_TEST(observer.heard->ups()[0].over == "tcp");
        observer.end->send(a.id, conformance::numbered_frame(w.pool, 3, {1u << 20}));
        BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->frame_count() == 1; }));
    }
}

BOOST_AUTO_TEST_CASE(what_only_one_of_two_nodes_can_see_is_not_shared_memory) {
    const hostile_peer::claims tells_lies{.route = link_route::tcp, .names_its_memory = false};
    const hostile_peer::claims is_blind{.route = link_route::tcp, .sees_memory = false};
    for (const auto& claims : {tells_lies, is_blind}) {
        node_world w{link_transports::automatic};
        node a = w.add("a");
        hostile_peer other{w, a, handshake_side::connector, claims};
        BOOST_TEST(other.is_seen == claims.names_its_memory);
        other.advance_until([&] { return a.heard->ups().size() == 1; });
        BOOST_TEST(a.heard->ups()[0].over == "tcp");
        other.send(other.rightful(*conformance::numbered_frame(w.pool, 5), 0), {});
        BOOST_TEST(w.wait_for([&] { return a.heard->frame_count() == 1; }));
    }
}

BOOST_AUTO_TEST_CASE(nodes_without_room_for_shared_memory_use_tcp_and_say_why_once) {
    node_world w{link_transports::automatic};
    std::vector<std::string> said;
    node a = w.add_with(
        {.name = "a", .log = [&](const std::string& sentence) { said.push_back(sentence); }});
    const no_room here;
    for (const char* name : {"b", "c"}) {
        node other = w.add(name);
        w.join(other, a);
        BOOST_TEST(a.heard->ups().back().over == "tcp");
        BOOST_TEST(other.heard->ups().back().over == "tcp");
        other.end->send(a.id, conformance::numbered_frame(w.pool, 3, {1u << 20}));
        BOOST_TEST(w.wait_for([&] { return a.heard->frame_count() == 1; }));
        a.heard->forget_frames();
    }
    a.end->close();
    BOOST_TEST_REQUIRE(said.size() == 1u);
    for (const char* part : {"go over TCP", "/dev/shm", "--shm-size"})
        BOOST_TEST(said[0].find(part) != std::string::npos, said[0]);
}

BOOST_AUTO_TEST_CASE(nodes_of_shared_memory_alone_without_room_for_it_are_told_so) {
    shm_world w;
    node a = w.add("a");
    node b = w.add("b");
    const no_room here;
    a.end->connect(b.end->address());
    BOOST_TEST(w.wait_for([&] { return a.heard->failures().size() == 1; }));
    for (const char* part : {"no shared memory for a link", "/dev/shm", "--transport tcp"})
        BOOST_TEST(a.heard->last_reason().find(part) != std::string::npos, a.heard->last_reason());
}

BOOST_AUTO_TEST_CASE(who_may_use_shared_memory_alone_is_told_that_there_is_none) {
    shm_world w;
    node a = w.add("a");
    file_descriptor accepted = connected_from(w, a);
    talker other{w, std::move(accepted), handshake_side::acceptor};
    hello_message hello = other.hello_of(node_identity{});
    hello.tcp = false;
    hello.memory = memory_mark{1, 1, {}};
    other.say(hello);
    other.say(sight_message{true});
    other.hear(2);
    BOOST_TEST(!std::get<sight_message>(other.arrived[1]).memory);
    BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->failures().empty(); }));
    BOOST_TEST((a.heard->failures() == std::vector{errc::refused}));
    BOOST_TEST(a.heard->last_reason().starts_with("it shares no memory with this node"));
}

BOOST_AUTO_TEST_CASE(messages_of_the_handshake_out_of_turn_end_the_connection) {
    const worker_message worker{std::vector<std::byte>(8)};
    const auto is_wrong = [](const auto&... messages) {
        tcp_world w;
        node a = w.add_with({.name = "a", .handshake_timeout = std::chrono::hours{1}}); // ends none
        talker other{w, begin_connect(resolve(a.end->address()).value()).value(),
                     handshake_side::connector};
        const node_identity identity;
        const auto say = [&](const auto& m) {
            if constexpr (std::is_same_v<decltype(m), const hello_message&>)
                other.say(other.hello_of(identity));
            else
                other.say(m);
        };
        (say(messages), ...);
        BOOST_TEST(other.is_left());
        BOOST_TEST(w.wait_for([&] { return a.heard->downs().size() == a.heard->ups().size(); }));
    };
    const hello_message hello;
    is_wrong(sight_message{});
    is_wrong(worker);
    is_wrong(hello, hello);
    is_wrong(hello, worker);
    is_wrong(hello, sight_message{}, sight_message{});
    is_wrong(hello, sight_message{}, worker);
    is_wrong(frames_message{});
    is_wrong(hello, frames_message{});
}

BOOST_AUTO_TEST_CASE(rdma_without_a_device_is_refused_with_what_to_do) {
    rdma_world w;
    const auto made = w.make({.name = "a"}, 1);
    if (made) {
        std::cout << "skipped: this machine has RDMA devices" << std::endl;
        return;
    }
    BOOST_TEST((made.failure().code() == errc::usage));
    BOOST_TEST(made.failure().message().starts_with("--transport rdma: "));
    BOOST_TEST(
        made.failure().message().ends_with("or give --transport auto, which takes what there is"));
}

BOOST_AUTO_TEST_SUITE_END()

// What only processes and sockets can do to each other: hostile bytes on the control port, forged frames, connections
// that come and go.
#include <sys/socket.h>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>

#include "tests/conformance/hostile_peer.hpp"
#include "tests/conformance/transport_world.hpp"
#include "transport/frame/wire.hpp"
#include "transport/tcp/control_connection.hpp"
#include "transport/ucx/ucx_worker.hpp"

using namespace troupe;
using namespace troupe::conformance;
using namespace std::chrono_literals;
using ucx_worlds = boost::mpl::list<shm_world, tcp_world, sealed_world>;

namespace {

// Of this process.
std::ptrdiff_t descriptors() {
    const std::filesystem::directory_iterator open{"/proc/self/fd"};
    return std::distance(begin(open), end(open));
}

} // namespace

BOOST_AUTO_TEST_SUITE(ucx_transport)

BOOST_AUTO_TEST_CASE(an_address_that_others_can_reach_needs_a_key) {
    shm_world w;
    const auto made = w.make({.name = "a", .key = "", .address = "0.0.0.0:0"}, 1);
    BOOST_TEST_REQUIRE(!made.ok());
    BOOST_TEST((made.failure().code() == errc::usage));
    BOOST_TEST(w.make({.name = "a", .key = "", .address = "127.0.0.1:0"}, 1).ok());
    BOOST_TEST((w.make({.name = "a", .address = "127.0.0.1"}, 1).failure().code() == errc::usage));
    BOOST_TEST(
        (w.make({.name = "a", .address = "127.0.0.1:99999"}, 1).failure().code() == errc::usage));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_no_node_does_not_hold_up_a_connect) {
    shm_world w;
    node a = w.add("a");
    const file_descriptor accepted = connected_from(w, a);
    const std::string text(100, 'x');
    BOOST_TEST(::send(accepted.get(), text.data(), text.size(), MSG_NOSIGNAL) == 100);
    BOOST_TEST(w.wait_for([&] { return a.heard->failures().size() == 1; }));
    BOOST_TEST((a.heard->failures() == std::vector{errc::protocol}));
}

BOOST_AUTO_TEST_CASE(names_are_not_looked_up_to_connect_but_before) {
    shm_world w;
    node a = w.add("a");
    a.end->connect("localhost:4711");
    BOOST_TEST(w.wait_for([&] { return a.heard->failures().size() == 1; }));
    BOOST_TEST((a.heard->failures() == std::vector{errc::unreachable}));
    if (const auto found = looked_up("localhost:4711"))
        BOOST_TEST(parse_address(*found).ok());
    else
        BOOST_TEST_MESSAGE("skipped: this machine does not know localhost");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_peer_that_was_quiet_is_heard_by_a_node_that_is_never_idle, World,
                              ucx_worlds) {
    World w;
    node a =
        w.add_with({.name = "a", .spin = 1h, .busy_rounds = 0}); // quiet from the next round on
    node b = w.add("b");
    node c = w.add("c");
    w.join(a, b);
    w.join(a, c);
    for (std::size_t round = 1; round <= 5; ++round) { // from the second on the ways are set up
        for (node* quiet : {&b, &c}) {
            a.end->send(quiet->id, conformance::numbered_frame(w.pool, round));
            BOOST_TEST_REQUIRE(w.wait_for([&] { return quiet->heard->frame_count() == round; }));
            quiet->end->send(a.id, conformance::numbered_frame(w.pool, round, {100000}));
        }
        BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->frame_count() == 2 * round; }));
    }
}

BOOST_AUTO_TEST_CASE(frames_without_the_right_token_are_dropped_and_counted) {
    shm_world w;
    node a = w.add("a");
    hostile_peer hostile{w, a};
    hostile.advance_until([&] { return a.heard->ups().size() == 1; });
    const frame_ptr f = conformance::numbered_frame(w.pool, 5);
    auto forged = hostile.rightful(*f, 0);
    forged[20] ^= std::byte{1}; // in the token
    hostile.send(forged, {});
    BOOST_TEST(w.wait_for([&] { return a.end->statistics().frames_malformed == 1; }));
    const std::vector<std::byte> garbage(200, std::byte{0x5a});
    hostile.send(garbage, garbage);
    BOOST_TEST(w.wait_for([&] { return a.end->statistics().frames_malformed == 2; }));
    // The connection has not suffered: nobody knows who sent them.
    hostile.send(hostile.rightful(*f, 0), {});
    BOOST_TEST(w.wait_for([&] { return a.heard->frame_count() == 1; }));
    BOOST_TEST(a.heard->downs().empty());
}

BOOST_AUTO_TEST_CASE(a_malformed_frame_costs_its_sender_the_connection) {
    const auto costs = [](auto spoil) {
        shm_world w;
        node a = w.add("a");
        hostile_peer hostile{w, a};
        hostile.advance_until([&] { return a.heard->ups().size() == 1; });
        auto bytes = hostile.rightful(*conformance::numbered_frame(w.pool, 5, {}, 100), 0);
        std::vector<std::byte> data;
        spoil(bytes, data);
        hostile.send(bytes, data);
        BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->downs().empty(); }));
        BOOST_TEST((a.heard->downs()[0].second == errc::protocol));
        BOOST_TEST(a.end->statistics().frames_malformed == 1u);
        BOOST_TEST(a.heard->frame_count() == 0u);
    };
    using bytes = std::vector<std::byte>;
    costs([](bytes& b, bytes&) { b[32] = std::byte{9}; });   // out of sequence
    costs([](bytes& b, bytes&) { b.resize(b.size() - 8); }); // shorter than it says
    costs([](bytes&, bytes& data) { data.resize(64); });     // data that nobody announced
    costs([](bytes& b, bytes&) { std::memset(b.data() + 56, 0xff, 16); }); // a damaged message
    costs([](bytes& b, bytes& data) {
        b[6] = std::byte{1}, b[40] = std::byte{64}, data.resize(64);
    }); // no descriptor
}

// A process that is killed amid a write leaves what no rightful node sends.
BOOST_AUTO_TEST_CASE(the_end_of_a_process_is_told_before_the_half_frame_that_it_leaves) {
    shm_world w;
    node a = w.add("a");
    hostile_peer killed{w, a};
    killed.advance_until([&] { return a.heard->ups().size() == 1; });
    const auto bytes = killed.rightful(*conformance::numbered_frame(w.pool, 5), 9);
    killed.send(bytes, {});
    BOOST_TEST_REQUIRE(w.wait_for([&] { return a.end->statistics().frames_malformed == 1; }));
    killed.control.reset();
    BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->downs().empty(); }));
    BOOST_TEST((a.heard->downs()[0].second == errc::lost));
}

BOOST_AUTO_TEST_CASE(a_malformed_frame_before_the_verdict_is_a_failed_connect) {
    shm_world w;
    node a = w.add("a");
    hostile_peer hostile{
        w, a, handshake_side::acceptor, {.has_lower_id = true}};               // the verdict is its
    auto bytes = hostile.rightful(*conformance::numbered_frame(w.pool, 5), 9); // out of sequence
    hostile.arrived.clear();
    hostile.send(bytes, {});
    BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->failures().empty(); }));
    BOOST_TEST((a.heard->failures() == std::vector{errc::protocol}));
    BOOST_TEST(a.heard->ups().empty());
    BOOST_TEST(a.heard->downs().empty());
    hostile.advance_until([&] { return !hostile.arrived.empty(); });
    BOOST_TEST(std::holds_alternative<given_up_message>(hostile.arrived[0]));
}

BOOST_AUTO_TEST_CASE(a_control_message_out_of_turn_ends_the_connection) {
    shm_world w;
    node a = w.add("a");
    hostile_peer hostile{w, a};
    hostile.advance_until([&] { return a.heard->ups().size() == 1; });
    hostile.control->send(verdict_message::accepted);
    BOOST_TEST(w.wait_for([&] { return a.heard->downs().size() == 1; }));
    BOOST_TEST((a.heard->downs()[0].second == errc::protocol));
}

BOOST_AUTO_TEST_CASE(who_proves_the_key_and_leaves_costs_nothing) {
    shm_world w;
    node a = w.add("a");
    const auto before = descriptors();
    for (int i = 0; i < 8; ++i) {
        control_connection c{begin_connect(resolve(a.end->address()).value()).value(),
                             handshake_side::connector, test_keys};
        std::vector<control_message> arrived;
        const auto advance_until = [&](auto is_there) {
            BOOST_TEST_REQUIRE(w.wait_for([&] {
                (void)c.advance(arrived);
                return is_there();
            }));
        };
        advance_until([&] { return c.proven(); });
        hello_message hello{{{}, "other", "127.0.0.1:1"}};
        const node_identity identity;
        const auto mark = own_memory_mark::create(identity.node()).value();
        hello.identity = identity.prove(c.secrets().name, handshake_side::connector);
        hello.memory = mark.where();
        hello.ucx = ucx_here();
        c.send(hello);
        c.send(sight_message{true});
        // Hello, sight and its worker: it has made all that it makes for a peer.
        advance_until([&] { return arrived.size() >= 3; });
    }
    BOOST_TEST(w.wait_for([&] { return descriptors() <= before; }));
}

BOOST_AUTO_TEST_CASE(a_peer_whose_ucx_has_other_transports_is_reached_over_tcp_and_told_of_once) {
    const std::string why = "its UCX has other transports within the machine than this node's, or "
                            "uses them in another way";
    const worker_kind other{std::byte{1}};
    node_world w{link_transports::automatic};
    std::vector<std::string> said;
    node a = w.add_with(
        {.name = "a", .log = [&](const std::string& sentence) { said.push_back(sentence); }});
    for (std::size_t i = 0; i < 2; ++i) {
        hostile_peer peer{
            w, a, handshake_side::connector, {.route = link_route::tcp, .kind = other}};
        BOOST_TEST(peer.is_seen);
        peer.advance_until([&] { return a.heard->ups().size() == i + 1; });
        BOOST_TEST(a.heard->ups().back().over == "tcp");
    }
    BOOST_TEST(said == std::vector<std::string>{"frames to hostile do not go over shared memory: " +
                                                why + "; likewise from now on to others like it"},
               boost::test_tools::per_element());
    shm_world alone;
    node b = alone.add("b");
    const hostile_peer peer{
        alone, b, handshake_side::acceptor, {.route = link_route::tcp, .kind = other}};
    BOOST_TEST_REQUIRE(alone.wait_for([&] { return !b.heard->failures().empty(); }));
    BOOST_TEST(b.heard->last_reason() == why + "; give --transport auto to both");
    BOOST_TEST(b.heard->ups().empty());
}

// The kind is that of workers which UCX connects.
BOOST_AUTO_TEST_CASE(nodes_of_one_machine_say_the_same_kind_of_worker) {
    node_world w{link_transports::automatic};
    node a = w.add("a"), b = w.add("b");
    w.join(a, b);
    BOOST_TEST(a.heard->ups()[0].over == "shared memory");
    const auto context = ucx_context::create(troupe::ucx_transport::shared_memory).value();
    const auto one = ucx_worker::create(*context).value(),
               two = ucx_worker::create(*context).value();
    BOOST_TEST((one->kind() == two->kind() && one->kind() != worker_kind{}));
}

BOOST_AUTO_TEST_CASE(an_altered_worker_address_ends_the_connection_alone) {
    shm_world w;
    node a = w.add("a");
    const hostile_peer liar{w, a, handshake_side::connector, {.alters_its_worker = true}};
    BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->downs().size() == 1; }));
    BOOST_TEST((a.heard->downs()[0].second == errc::refused));
    BOOST_TEST(a.heard->last_reason().starts_with("the address of its UCX worker is refused: "));
    node b = w.add("b");
    w.join(b, a);
    BOOST_TEST(a.heard->ups().back().over == "shared memory");
}

BOOST_AUTO_TEST_CASE(
    a_node_says_that_it_is_alive_while_a_transfer_is_slow_but_not_once_it_is_stuck) {
    shm_world w;
    node a = w.add("a");
    hostile_peer hostile{w, a};
    hostile.advance_until([&] { return a.heard->ups().size() == 1; });
    hostile.arrived.clear();
    // It never fetches the tensor; what is small completes at its sender all the same.
    const node_id to = hostile.identity.node();
    a.end->send(to, conformance::numbered_frame(w.pool, 1, {8u << 20}));
    hostile.advance_until([&] { return hostile.arrived.size() >= 2; });
    w.pass(40s); // 8 MiB at a megabyte per second, and what a peer's memory may take
    hostile.advance_until([&] { return hostile.arrived.size() >= 4; });
    a.end->send(to, conformance::numbered_frame(w.pool, 2));
    w.pass(60s);
    const auto count = [&] {
        for (int i = 0; i < 12; ++i) // more than two intervals
            w.settle();
        (void)hostile.control->advance(hostile.arrived);
        return hostile.arrived.size();
    };
    (void)count(); // one may have been on its way
    hostile.arrived.clear();
    BOOST_TEST(count() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_killed_peer_is_noticed_at_once, World, ucx_worlds) {
    World w;
    const monotonic_time time;
    node a = w.add("a");
    const auto echo = w.start_echo();
    w.join(a, *echo);
    const time_point killed = time.now();
    echo->kill();
    BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->downs().empty(); }));
    BOOST_TEST_MESSAGE("noticed after " << (time.now() - killed).count() / 1000 << " us");
    BOOST_TEST(((time.now() - killed) < 5s)); // the socket tells: the keep-alive takes twenty
}

BOOST_AUTO_TEST_CASE(what_a_killed_peer_held_is_given_back) {
    for (const auto transports : {link_transports::automatic, link_transports::tcp}) {
        node_world w{transports};
        node hub = w.add("hub");
        const auto before = descriptors();
        for (std::size_t lost = 1; lost <= 8; ++lost) {
            const auto echo = w.start_echo();
            hub.end->send(w.join(hub, *echo), numbered_frame(w.pool, lost, {50000}));
            BOOST_TEST_REQUIRE(w.wait_for([&] { return hub.heard->frame_count() == lost; }));
            w.settle(); // both know that the connection is set up
            echo->kill();
            BOOST_TEST_REQUIRE(w.wait_for([&] { return hub.heard->downs().size() == lost; }));
        }
        BOOST_TEST(w.wait_for([&] { return descriptors() <= before; }));
    }
}

BOOST_AUTO_TEST_CASE(nodes_may_come_and_go_at_once) {
    for (const auto transports : {link_transports::automatic, link_transports::tcp}) {
        node_world w{transports};
        node hub = w.add("hub");
        for (int i = 0; i < 30; ++i) {
            node guest = w.add("guest");
            guest.end->connect(hub.end->address());
            if (i % 3 != 0)
                BOOST_TEST(w.wait_for([&] { return !guest.heard->ups().empty(); }));
            if (i % 3 == 2)
                guest.end->send(hub.id, conformance::numbered_frame(w.pool, 1, {50000}));
        }
        BOOST_TEST(
            w.wait_for([&] { return hub.heard->downs().size() == hub.heard->ups().size(); }));
    }
}

BOOST_AUTO_TEST_SUITE_END()

// Strangers at the port of a node: garbage, silence, crowds, recorded openings; and peers with the key that stall.
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <utility>
#include <vector>

#include "tests/conformance/hostile_peer.hpp"
#include "tests/conformance/transport_world.hpp"
#include "transport/handshake/control.hpp"
#include "transport/tcp/control_connection.hpp"
#include "transport/tcp/socket.hpp"
#include "transport/ucx/ucx_worker.hpp"

using namespace troupe;
using namespace troupe::conformance;
using namespace std::chrono_literals;

namespace {

// A socket connected to the node, blocking.
file_descriptor raw_connection(const node& to) {
    const auto address = resolve(to.end->address()).value();
    file_descriptor s{socket(AF_INET, SOCK_STREAM, 0)};
    BOOST_TEST_REQUIRE(
        connect(s.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0);
    return s;
}

// Whether the other side closes the connection, reading what it sends until then.
bool is_closed_by_peer(const file_descriptor& s) {
    const timeval limit{10, 0};
    setsockopt(s.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char bytes[1024];
    ssize_t got = 0;
    while ((got = recv(s.get(), bytes, sizeof bytes, 0)) > 0) {
    }
    return got == 0 || errno == ECONNRESET;
}

std::vector<std::byte> read_exactly(const file_descriptor& s, std::size_t wanted) {
    std::vector<std::byte> bytes(wanted);
    BOOST_TEST_REQUIRE(recv(s.get(), bytes.data(), wanted, MSG_WAITALL) ==
                       static_cast<ssize_t>(wanted));
    return bytes;
}

// A socket with this address of loopback, connected to the node, as begin_connect makes them.
int connection_from(const char* host, const node& to) {
    const auto address = resolve(to.end->address()).value();
    sockaddr_in from{};
    from.sin_family = AF_INET;
    BOOST_TEST_REQUIRE(inet_pton(AF_INET, host, &from.sin_addr) == 1);
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    BOOST_TEST_REQUIRE(bind(s, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0);
    BOOST_TEST_REQUIRE(
        connect(s, reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0);
    BOOST_TEST_REQUIRE(fcntl(s, F_SETFL, O_NONBLOCK) == 0);
    return s;
}

// Comes in over this socket, proves the key, says hello and hears the node's; says no more.
void stall(std::deque<talker>& those, node_world& w, file_descriptor connected) {
    talker& next = those.emplace_back(w, std::move(connected), handshake_side::connector);
    next.say(next.hello_of(node_identity{}));
    next.hear(1);
}

// A node comes in, though others from one address have all the room, and as many as `in_line` from there wait for some.
void come_beside_a_crowd(int in_line) {
    // On a loaded machine the crowd may take long enough to be closed for its silence: then once more.
    int attempts = 0;
    for (bool is_by_share = false; !is_by_share;) {
        BOOST_TEST_REQUIRE(++attempts <= 10);
        shm_world w;
        node a = w.add_with({.name = "a", .handshakes_max = 8});
        node b = w.add("b");
        std::deque<talker> crowd;
        std::vector<file_descriptor> line;
        const auto begun = std::chrono::steady_clock::now();
        for (int i = 0; i < 8; ++i)
            stall(crowd, w, file_descriptor{connection_from("127.0.0.2", a)});
        for (int i = 0; i < in_line; ++i)
            line.emplace_back(connection_from("127.0.0.2", a));
        b.end->connect(a.end->address());
        BOOST_TEST_REQUIRE(w.wait_for([&] { return b.heard->ups().size() == 1; }));
        is_by_share = std::chrono::steady_clock::now() - begun < 500ms;
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(ucx_transport)

BOOST_AUTO_TEST_CASE(garbage_and_silence_on_the_port_are_refused_and_counted) {
    shm_world w;
    node a = w.add_with({.name = "a", .handshake_timeout = 2s});
    const auto garbage = raw_connection(a);
    const std::string text(100, 'x');
    BOOST_TEST(::send(garbage.get(), text.data(), text.size(), MSG_NOSIGNAL) == 100);
    BOOST_TEST(is_closed_by_peer(garbage));
    const auto silent = raw_connection(a);
    BOOST_TEST(is_closed_by_peer(silent));
    BOOST_TEST(w.wait_for([&] { return a.end->statistics().handshakes_refused == 2; }));
    node b = w.add("b"); // still welcome
    w.join(b, a);
}

BOOST_AUTO_TEST_CASE(of_too_many_that_have_not_proven_themselves_the_oldest_goes) {
    shm_world w;
    std::atomic<int> sentences{0};
    node a = w.add_with(
        {.name = "a", .handshakes_max = 4, .log = [&](const std::string&) { ++sentences; }});
    std::vector<file_descriptor> silent;
    for (int i = 0; i < 4; ++i)
        silent.push_back(raw_connection(a));
    for (std::size_t oldest = 0; oldest < 6; ++oldest) {
        silent.push_back(raw_connection(a));
        BOOST_TEST(is_closed_by_peer(silent[oldest]));
    }
    node b = w.add("b");
    w.join(b, a);
    BOOST_TEST(is_closed_by_peer(silent[6]));
    BOOST_TEST(w.wait_for([&] { return a.end->statistics().handshakes_refused == 7; }));
    BOOST_TEST(sentences == 1);
    silent.clear();
    BOOST_TEST(w.wait_for([&] { return a.end->statistics().handshakes_refused == 10; }));
}

BOOST_AUTO_TEST_CASE(who_has_sent_its_proof_does_not_go_for_others) {
    shm_world w;
    socket_address address;
    file_descriptor honest;
    std::vector<std::byte> hello;
    ssize_t sent = 0;
    std::vector<file_descriptor> newer;
    for (int i = 0; i < 5; ++i)
        newer.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
    // Called while connections are taken in: nothing of the proof is read before the next ones.
    const auto prove_in_a_crowd = [&](const std::string&) {
        sent = ::send(honest.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
        for (const file_descriptor& s : newer)
            (void)connect(s.get(), reinterpret_cast<const sockaddr*>(&address.storage),
                          address.length);
    };
    const node_settings settings{.name = "a", .handshakes_max = 2, .log = prove_in_a_crowd};
    node a = w.add_with(settings);
    address = resolve(a.end->address()).value();
    const auto older = raw_connection(a);
    honest = raw_connection(a);
    handshake proof{handshake_side::connector, test_keys, draw_token()};
    const auto opening = proof.begin();
    BOOST_TEST(::send(honest.get(), opening.data(), opening.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(opening.size()));
    while (!proof.done())
        BOOST_TEST_REQUIRE(proof.advance(read_exactly(honest, proof.wanted())).ok());
    sealed_messages messages{proof.secrets()};
    hello_message said{{{}, "honest", "127.0.0.1:1"}};
    said.identity = node_identity{}.prove(proof.secrets().name, handshake_side::connector);
    said.ucx = ucx_here(); // goes on to wait for its next message
    hello = messages.seal(write_control(said));
    const auto third = raw_connection(a); // for which the oldest goes
    BOOST_TEST(is_closed_by_peer(older));
    BOOST_TEST(is_closed_by_peer(third));
    BOOST_TEST(sent == static_cast<ssize_t>(hello.size()));
    const auto head = read_exactly(honest, sealed_messages::head_bytes);
    const auto answer =
        sealed_messages::sealed_bytes(std::span{head}.first<sealed_messages::head_bytes>());
    BOOST_TEST(messages.open(read_exactly(honest, answer.value())).ok());
    for (std::size_t i = 0; i < 4; ++i)
        BOOST_TEST(is_closed_by_peer(newer[i]));
}

BOOST_AUTO_TEST_CASE(an_opening_that_is_sent_again_proves_nothing) {
    shm_world w;
    const node_settings settings{.name = "a", .handshake_timeout = 3s, .handshakes_max = 2};
    node a = w.add_with(settings);
    handshake proof{handshake_side::connector, test_keys, draw_token()};
    const auto opening = proof.begin(); // as somebody has seen it on its way
    std::vector<file_descriptor> replayed;
    for (int i = 0; i < 3; ++i) {
        replayed.push_back(raw_connection(a));
        BOOST_TEST(::send(replayed.back().get(), opening.data(), opening.size(), MSG_NOSIGNAL) ==
                   static_cast<ssize_t>(opening.size()));
        (void)read_exactly(replayed.back(), opening.size()); // the answer, of no use to them
    }
    BOOST_TEST(is_closed_by_peer(replayed[0])); // for the third: it counts as unproven
    for (const std::size_t i : {1, 2})
        BOOST_TEST(is_closed_by_peer(replayed[i]));
    BOOST_TEST(w.wait_for([&] { return a.end->statistics().handshakes_refused == 3; }));
    BOOST_TEST(a.heard->ups().empty());
}

BOOST_AUTO_TEST_CASE(who_proves_the_key_and_stalls_keeps_nobody_out) {
    shm_world w;
    std::atomic<int> sentences{0};
    const node_settings settings{
        .name = "a", .handshakes_max = 4, .log = [&](const std::string&) { ++sentences; }};
    node a = w.add_with(settings);
    std::deque<talker> stalled;
    for (int i = 0; i < 4; ++i)
        stall(stalled, w, connected_to(a));
    for (const char* name : {"b", "c"}) {
        node other = w.add(name);
        w.join(other, a);
    }
    BOOST_TEST(sentences == 1);
}

BOOST_AUTO_TEST_CASE(a_crowd_from_one_address_leaves_room_for_others) {
    come_beside_a_crowd(0);
}

BOOST_AUTO_TEST_CASE(newcomers_of_a_crowd_do_not_stand_before_others) {
    come_beside_a_crowd(2); // for whom there is no room
}

BOOST_AUTO_TEST_SUITE_END()

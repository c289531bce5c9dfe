// Who a peer is and what it may be: proven, not said.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "tests/conformance/hostile_peer.hpp"
#include "tests/conformance/transport_world.hpp"
#include "transport/node/refusal_log.hpp"

using namespace troupe;
using namespace troupe::conformance;

namespace {

constexpr std::array all_roles{peer_role::member, peer_role::client, peer_role::observer};

cluster_key key_of(peer_role role) {
    return {"a key of the tests for " + std::string{people_of(role)}, role};
}

std::shared_ptr<key_ring> keys_of_all_roles() {
    std::vector<cluster_key> keys;
    for (const peer_role role : all_roles)
        keys.push_back(key_of(role));
    return std::make_shared<key_ring>(cluster_keys{keys});
}

// Why the node gave the talker up, instead of going on with its hello.
std::string refusal(talker& other) {
    BOOST_TEST_REQUIRE(other.is_left());
    BOOST_TEST_REQUIRE(!other.arrived.empty()); // a node that has connected has said hello before
    const auto* const given_up = std::get_if<given_up_message>(&other.arrived.back());
    return given_up != nullptr ? given_up->why : "not refused";
}

bool is_in(const std::string& piece, const std::string& text) {
    return text.find(piece) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(ucx_identities)

BOOST_AUTO_TEST_CASE(nobody_is_taken_for_a_node_whose_identity_is_not_its_own) {
    tcp_world w;
    std::atomic<int> sentences{0};
    node a = w.add_with({.name = "a", .log = [&](const std::string&) { ++sentences; }});
    const hostile_peer::claims over_tcp{.route = link_route::tcp, .has_lower_id = true};
    hostile_peer honest{w, a, handshake_side::connector, over_tcp};
    honest.control->send(verdict_message::accepted);
    BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->ups().size() == 1; }));
    BOOST_TEST(a.heard->ups()[0].node == honest.identity.node());
    // Its key with another's signature, what it has signed on its own connection, and on the other side of one.
    const noise_hash there = honest.control->secrets().name;
    const auto forgeries = [&](const identity_proof& own) {
        identity_proof by_another = own;
        by_another.key = honest.identity.prove(there, handshake_side::connector).key;
        return std::vector{by_another, honest.identity.prove(there, handshake_side::connector),
                           honest.identity.prove(there, handshake_side::acceptor)};
    };
    for (std::size_t i = 0; i < 3; ++i) {
        for (const handshake_side side : {handshake_side::connector, handshake_side::acceptor}) {
            const bool connects = side == handshake_side::connector;
            talker liar{w, connects ? connected_to(a) : connected_from(w, a), side};
            hello_message hello = liar.hello_of(node_identity{});
            hello.identity = forgeries(hello.identity)[i];
            liar.say(hello);
            const std::string why = refusal(liar);
            BOOST_TEST(is_in("has not been proven", why), why);
        }
    }
    BOOST_TEST(sentences ==
               1); // of those that have come in; the others for the same reason are counted
    BOOST_TEST((a.heard->failures() == std::vector{errc::refused, errc::refused, errc::refused}));
    BOOST_TEST(a.heard->ups().size() == 1u);
    BOOST_TEST(a.heard->downs().empty());
}

BOOST_AUTO_TEST_CASE(a_node_that_is_up_cannot_connect_again_before_the_first_connection_has_ended) {
    for (const bool has_lower_id : {true, false}) {
        tcp_world w;
        node a = w.add("a");
        hostile_peer::claims claims{.route = link_route::tcp, .has_lower_id = has_lower_id};
        const auto connected = [&] {
            auto made = std::make_unique<hostile_peer>(w, a, handshake_side::connector, claims);
            claims.identity = made->identity;
            if (has_lower_id)
                made->control->send(verdict_message::accepted);
            return made;
        };
        const auto first = connected();
        BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->ups().size() == 1; }));
        const auto second = connected();
        second->advance_until([&] { return !second->arrived.empty(); });
        if (const auto* verdict = std::get_if<verdict_message>(&second->arrived[0]))
            BOOST_TEST((*verdict == verdict_message::duplicate && !has_lower_id));
        else
            BOOST_TEST(is_in("has not ended on this side",
                             std::get<given_up_message>(second->arrived[0]).why));
        // The first one has not suffered.
        first->send(first->rightful(*conformance::numbered_frame(w.pool, 5), 0), {});
        BOOST_TEST(w.wait_for([&] { return a.heard->frame_count() == 1; }));
        BOOST_TEST(a.heard->downs().empty());
        first->control.reset();
        BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->downs().size() == 1; }));
        const auto third = connected();
        BOOST_TEST(w.wait_for([&] { return a.heard->ups().size() == 2; }));
        BOOST_TEST(a.heard->ups()[1].node == first->identity.node());
    }
}

BOOST_AUTO_TEST_CASE(a_key_lets_in_those_whom_it_is_for) {
    tcp_world w;
    std::atomic<int> sentences{0};
    node a = w.add_with({.name = "a", .ring = keys_of_all_roles(), .log = [&](const std::string&) {
                             ++sentences;
                         }});
    for (const peer_role proven : all_roles) {
        for (const peer_role said : all_roles) {
            talker other{w, connected_to(a), handshake_side::connector, {key_of(proven)}};
            hello_message hello = other.hello_of(node_identity{});
            hello.self.role = said;
            other.say(hello);
            if (said == proven) {
                other.hear(2);
                BOOST_TEST(std::holds_alternative<sight_message>(other.arrived[1]));
                continue;
            }
            const std::string why = refusal(other);
            BOOST_TEST(is_in("is for " + std::string{people_of(proven)}, why), why);
            BOOST_TEST(is_in("a line '" + std::string{word_of(said)} + " KEY'", why), why);
        }
    }
    BOOST_TEST(w.wait_for([&] { return sentences == refusal_log::reasons_max; }));
    BOOST_TEST(a.heard->ups().empty());
}

BOOST_AUTO_TEST_CASE(who_accepts_the_key_of_runs_is_no_observer) {
    tcp_world w;
    node run = w.add_with(
        {.name = "run",
         .ring = std::make_shared<key_ring>(cluster_keys{std::vector{key_of(peer_role::client)}}),
         .role = peer_role::client});
    for (const peer_role said : all_roles) {
        talker other{
            w, connected_from(w, run), handshake_side::acceptor, {key_of(peer_role::client)}};
        hello_message hello = other.hello_of(node_identity{});
        hello.self.role = said;
        other.say(hello);
        if (said != peer_role::observer) {
            other.hear(2);
            BOOST_TEST(std::holds_alternative<sight_message>(other.arrived[1]));
            continue;
        }
        BOOST_TEST(is_in("is for runs, and an observer needs one", refusal(other)));
        BOOST_TEST(w.wait_for([&] { // after those of the others, who have left
            return std::ranges::count(run.heard->failures(), errc::refused) == 1;
        }));
    }
}

BOOST_AUTO_TEST_CASE(new_keys_are_for_new_connections) {
    tcp_world w;
    const auto ring = std::make_shared<key_ring>(cluster_keys{test_keys});
    node a = w.add_with({.name = "a", .ring = ring});
    node before = w.add("before");
    w.join(before, a);
    before.end->send(a.id, conformance::numbered_frame(w.pool, 4)); // all its connections are there
    BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->frame_count() == 1; }));
    const std::string renewed = "another key for the tests";
    ring->replace(cluster_keys{renewed});
    node after = w.add_with({.name = "after", .key = renewed});
    w.join(after, a);
    node late = w.add("late");
    w.join(before, late); // whose keys are the old ones
    late.end->connect(a.end->address());
    BOOST_TEST_REQUIRE(w.wait_for([&] { return !late.heard->failures().empty(); }));
    BOOST_TEST((late.heard->failures() == std::vector{errc::refused}));
    before.end->send(a.id, conformance::numbered_frame(w.pool, 5));
    BOOST_TEST(w.wait_for([&] { return a.heard->frame_count() == 2; }));
    BOOST_TEST(a.heard->downs().empty());
}

BOOST_AUTO_TEST_SUITE_END()

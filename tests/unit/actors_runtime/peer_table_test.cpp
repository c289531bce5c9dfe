// The table of peers alone. Its proxies are null here: it only keeps them.
#include <boost/test/unit_test.hpp>

#include "actors/runtime/peer_table.hpp"
#include "schemas/base/limits.hpp"

using namespace troupe;

namespace {

constexpr node_id a{1}, b{2};

peer_info named(node_id node, std::string name, peer_role role = peer_role::member) {
    return {.node = node, .name = std::move(name), .address = {}, .role = role};
}

struct one_table {
    std::size_t made = 0; // proxies
    std::vector<std::string> told;

    peer_table peers{[this](actor_address) {
        ++made;
        return caf::strong_actor_ptr{};
    }};

    const peer_table::tell listens = [this](actor_address subscriber) {
        told.push_back(std::to_string(subscriber.actor.value()) + ": listening");
    };
    const peer_table::tell_of_peer is_up = [this](actor_address subscriber, const peer_info& peer) {
        told.push_back(std::to_string(subscriber.actor.value()) + ": " + peer.name);
    };

    static actor_address actor_of(node_id node, std::uint64_t number) {
        return {node, actor_number{number}};
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(peer_tables, one_table)

BOOST_AUTO_TEST_CASE(a_subscriber_is_told_of_what_is_and_of_what_comes) {
    peers.subscribe(actor_of(a, 1), listens, is_up);
    peers.add(named(b, "b"), {}, is_up);
    peers.begin_to_listen(listens);
    peers.subscribe(actor_of(a, 2), listens, is_up);
    BOOST_TEST(told == (std::vector<std::string>{"1: b", "1: listening", "2: listening", "2: b"}),
               boost::test_tools::per_element());
    BOOST_TEST(peers.is_listening());
    BOOST_TEST(peers.subscribers().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_peer_is_heard_while_it_is_up) {
    BOOST_TEST(!peers.last_heard(b));
    BOOST_TEST((peers.hear(b, {5}) == peer_role::member)); // a stranger
    peers.add(named(b, "b", peer_role::observer), {10}, is_up);
    BOOST_TEST(peers.last_heard(b)->ns == 10);
    BOOST_TEST((peers.hear(b, {20}) == peer_role::observer));
    BOOST_TEST(peers.last_heard(b)->ns == 20);
    peers.remove(b, error{errc::lost, "it is silent"});
    BOOST_TEST(!peers.last_heard(b));
    BOOST_TEST(peers.list().empty());
}

BOOST_AUTO_TEST_CASE(the_latest_reason_of_a_loss_is_known_until_many_others_are_lost) {
    BOOST_TEST(peers.why_not_up(b).message() == "its node has no connection to the one that needs "
                                                "it, for a reason that the nodes' logs name");
    BOOST_TEST(!peers.remove(b, error{errc::lost, "it was never there"}));
    for (const char* why : {"first", "second"}) {
        peers.add(named(b, "b"), {}, is_up);
        const auto left = peers.remove(b, error{errc::cancelled, why});
        BOOST_REQUIRE(left);
        BOOST_TEST(left->reason.message() == std::string{"node b is lost: "} + why);
        BOOST_TEST((left->reason.code() == errc::lost));
    }
    BOOST_TEST(peers.why_not_up(b).message() == "node b is lost: second");
    peers.add(named(b, "b"), {}, is_up); // which is there, and gives this node up
    const auto left = peers.remove(b, error{errc::refused, "it gave up the connection"});
    BOOST_REQUIRE(left);
    BOOST_TEST(left->reason.message() == "node b: it gave up the connection");
    BOOST_TEST((left->reason.code() == errc::refused));
    peers.add(named(b, "b"), {}, is_up);
    BOOST_TEST(peers.remove(b, error{errc::lost, "second"}).has_value());
    for (std::uint64_t other = 100; other < 164; ++other) {
        peers.add(named(node_id{other}, "other"), {}, is_up);
        peers.remove(node_id{other}, error{errc::lost, "it went"});
    }
    BOOST_TEST(peers.why_not_up(b).message() == "its node has no connection to the one that needs "
                                                "it, for a reason that the nodes' logs name");
}

BOOST_AUTO_TEST_CASE(an_actor_of_a_peer_has_one_proxy_and_a_peer_a_bounded_number) {
    peers.path_to(actor_of(b, 1));
    BOOST_TEST(made == 0u); // it is not up
    peers.add(named(b, "b"), {}, is_up);
    peers.path_to(actor_of(b, 1));
    peers.path_to(actor_of(b, 1));
    BOOST_TEST(made == 1u);
    for (std::uint64_t number = 2; number <= limits::remote_actors_max + 1; ++number)
        peers.path_to(actor_of(b, number));
    BOOST_TEST(made == limits::remote_actors_max);
    peers.take_proxy(actor_of(b, 1));
    peers.path_to(actor_of(b, 1));
    BOOST_TEST(made == limits::remote_actors_max + 1);
    BOOST_TEST(peers.remove(b, error{errc::lost, "it went"})->ended.size() ==
               limits::remote_actors_max);
}

BOOST_AUTO_TEST_CASE(each_time_that_a_peer_becomes_writable_is_an_epoch) {
    BOOST_TEST(peers.path_to(actor_of(b, 1)).epoch == 0u);
    peers.add(named(b, "b"), {}, is_up);
    peers.take_parked(b);
    BOOST_TEST(peers.path_to(actor_of(b, 1)).epoch == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

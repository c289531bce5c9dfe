// Gossip's peer between a stage and the one whom it meets.
#include <boost/test/unit_test.hpp>

#include "actors/peers/gossip_peer.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;
using numbers = std::vector<float>;

namespace {

// The second of two replicas.
struct second_of_two : puppet_stage {
    part& stage = add<proto::Exchanged>("stage");
    part& other = add<proto::Meet, proto::Met>("other");
    actor_address peer;

    second_of_two() {
        peer = node.spawn<gossip_peer>("peer", peer_options{shared_device(), {}, {tensor_shape{2}}},
                                       gossip_rule{});
        watch(stage, peer);
        frame_builder<proto::JoinPeers> join;
        join.body().setRank(1);
        auto members = join.body().initMembers(2);
        write_address(members[0], other.address);
        write_address(members[1], peer);
        join.attach(floats({0, 0}));
        say(stage, peer, std::move(join));
    }

    // What the stage gets for its weights.
    numbers exchange(const numbers& own) {
        frame_builder<proto::Exchange> b;
        b.attach(floats(own));
        say(stage, peer, std::move(b));
        const auto answer = stage.log.all<proto::Exchanged>().back();
        BOOST_TEST(answer->body<proto::Exchanged>().getFactor() == 0.0f);
        return values_of(answer->tensors()[0]);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(gossip_peers)

BOOST_FIXTURE_TEST_CASE(who_is_met_moves_half_of_the_way_and_says_by_how_much, second_of_two) {
    frame_builder<proto::Meet> meet;
    meet.attach(floats({4, 8}));
    say(other, peer, std::move(meet));
    const auto met = other.log.all<proto::Met>();
    BOOST_REQUIRE(met.size() == 1u);
    BOOST_TEST(values_of(met[0]->tensors()[0]) == (numbers{2, 4}));
    BOOST_TEST(exchange({1, 1}) == (numbers{3, 5})); // with what the stage has added meanwhile
}

BOOST_FIXTURE_TEST_CASE(who_meets_another_moves_as_much_towards_it, second_of_two) {
    BOOST_TEST(exchange({2, 6}) == (numbers{2, 6}));
    const auto meets = other.log.all<proto::Meet>();
    BOOST_REQUIRE(meets.size() == 1u);
    BOOST_TEST(values_of(meets[0]->tensors()[0]) == (numbers{2, 6}));
    frame_builder<proto::Met> met; // of one at 4 4
    met.attach(floats({-1, 1}));
    say(other, peer, std::move(met));
    BOOST_TEST(exchange({2, 6}) == (numbers{3, 5}));
    BOOST_TEST(stage.log.downs.empty());
}

// Of three, of whom the second is lost when the third begins anew.
BOOST_FIXTURE_TEST_CASE(a_newcomer_meets_nobody_in_the_place_of_a_lost_one, puppet_stage) {
    part& stage = add<proto::Common, proto::Exchanged>("stage");
    part& first = add<proto::ReadWeights, proto::Meet>("first");
    const actor_address peer = node.spawn<gossip_peer>(
        "peer", peer_options{shared_device(), {}, {tensor_shape{1}}}, gossip_rule{});
    watch(stage, peer);
    frame_builder<proto::JoinPeers> join;
    join.body().setRank(2);
    join.body().setAnew(true);
    auto members = join.body().initMembers(3);
    write_address(members[0], first.address);
    write_address(members[2], peer);
    join.attach(floats({0}));
    say(stage, peer, std::move(join));
    frame_builder<proto::PeerWeights> weights;
    weights.attach(floats({7}));
    say(first, peer, std::move(weights));
    BOOST_TEST(stage.log.all<proto::Common>().size() == 1u);
    const std::size_t times = 20; // by lot the other one would be met, too
    for (std::size_t i = 0; i < times; ++i) {
        frame_builder<proto::Exchange> exchange;
        exchange.attach(floats({7}));
        say(stage, peer, std::move(exchange));
        BOOST_REQUIRE(first.log.all<proto::Meet>().size() == i + 1);
        frame_builder<proto::Met> met;
        met.attach(floats({0}));
        say(first, peer, std::move(met));
    }
    BOOST_TEST(stage.log.all<proto::Exchanged>().size() == times);
    BOOST_TEST(stage.log.downs.empty());
}

BOOST_AUTO_TEST_SUITE_END()

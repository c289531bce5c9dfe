// The peer that keeps the centre, between a stage and peers that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include "actors/peers/elastic_peer.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

template <class Body>
frame_builder<Body> with(frame_builder<Body> b, const std::vector<tensor>& tensors) {
    for (const tensor& t : tensors)
        b.attach(t);
    b.envelope().setWork(42);
    return b;
}

// Weights of two and of one element; a rate whose products are exact.
struct one_centre : puppet_stage {
    part& stage = add<proto::Exchanged, proto::Common>("stage");
    part& other = add<proto::Met, proto::ReadWeights>("other");
    part& newcomer = add<proto::Met, proto::PeerWeights>("newcomer");
    part& trainer = add<proto::PeerExpected>("trainer");
    part& stranger = add<>("stranger");
    actor_address peer;

    explicit one_centre(bool synchronous = false, std::uint32_t rank = 0, bool anew = false) {
        peer = node.spawn<elastic_peer>(
            "peer",
            peer_options{shared_device(), trainer.address, {tensor_shape{2}, tensor_shape{1}}},
            elastic_rule{0.25f, synchronous});
        watch(stage, peer);
        frame_builder<proto::JoinPeers> join;
        join.body().setRank(rank);
        join.body().setAnew(anew);
        auto members = join.body().initMembers(2);
        write_address(members[rank], peer);
        write_address(members[1 - rank], other.address);
        say(stage, peer, with(std::move(join), {floats({0, 0}), floats({8})}));
    }

    void let_newcomer_join(part& who_says) {
        frame_builder<proto::PeerJoined> joined;
        joined.body().setRank(1);
        write_address(joined.body().initMember(), newcomer.address);
        say(who_says, peer, std::move(joined));
    }
    void hand_over(const std::vector<float>& first, float second) {
        say(stage, peer, with(frame_builder<proto::Exchange>{}, {floats(first), floats({second})}));
    }
    void meet(const std::vector<float>& row) {
        say(other, peer, with(frame_builder<proto::Meet>{}, {floats(row)}));
    }
    std::vector<float> centre() {
        say(stage, peer, frame_builder<proto::ReadCommon>{});
        const auto answers = stage.log.all<proto::Common>();
        BOOST_REQUIRE(!answers.empty());
        std::vector<float> all = values_of(answers.back()->tensors()[0]);
        all.push_back(answers.back()->tensors()[1].values<float>()[0]);
        return all;
    }
    std::vector<float> last_met() {
        return values_of(other.log.all<proto::Met>().back()->tensors()[0]);
    }
    void check_ended(const std::string& sentence) {
        BOOST_REQUIRE(stage.log.downs.size() == 1u);
        BOOST_TEST(stage.log.downs[0].find(sentence) != std::string::npos, stage.log.downs[0]);
    }
};

using numbers = std::vector<float>;

} // namespace

BOOST_AUTO_TEST_SUITE(elastic_peers)

BOOST_FIXTURE_TEST_CASE(what_the_centre_gains_the_replica_loses, one_centre) {
    meet({4, 8, 0});
    BOOST_TEST(last_met() == (numbers{1, 2, -2}));
    BOOST_TEST(centre() == (numbers{1, 2, 6}));
    hand_over({1, 6}, 10);
    const auto exchanged = stage.log.all<proto::Exchanged>();
    BOOST_REQUIRE(exchanged.size() == 1u);
    BOOST_TEST(exchanged[0]->body<proto::Exchanged>().getFactor() == -1.0f);
    BOOST_TEST(exchanged[0]->envelope().getWork() == 42u);
    BOOST_TEST(values_of(exchanged[0]->tensors()[0]) == (numbers{0, 1}));
    BOOST_TEST(values_of(exchanged[0]->tensors()[1]) == numbers{1});
    BOOST_TEST(centre() == (numbers{1, 3, 7}));
    BOOST_TEST(traced(proto::EXCHANGE_WORK->cStr(), 42) >= 2u);
}

// What was read before does not change with the centre.
BOOST_FIXTURE_TEST_CASE(what_is_common_is_not_written_over, one_centre) {
    BOOST_TEST(centre() == (numbers{0, 0, 8}));
    meet({4, 8, 0});
    BOOST_TEST(values_of(stage.log.all<proto::Common>()[0]->tensors()[1]) == numbers{8});
    BOOST_TEST(centre() == (numbers{1, 2, 6}));
}

BOOST_AUTO_TEST_CASE(synchronous_replicas_meet_the_same_centre) {
    one_centre s{true};
    s.meet({4, 8, 0});
    BOOST_TEST(s.other.log.got.empty());
    s.hand_over({-4, 4}, 8);
    BOOST_TEST(s.last_met() == (numbers{1, 2, -2}));
    BOOST_TEST(s.centre() == (numbers{0, 3, 6}));
    s.meet({0, 3, 6});
    s.act(s.other,
          [](puppet& self) { self.quit(); }); // it has come, but is lost before the other does
    s.hand_over({4, 3}, 6);
    BOOST_TEST(s.centre() == (numbers{1, 3, 6}));
}

BOOST_FIXTURE_TEST_CASE(who_has_no_part_in_it_is_refused, one_centre) {
    say(stranger, peer, with(frame_builder<proto::Meet>{}, {floats({1, 2, 3})}));
    say(stranger, peer, with(frame_builder<proto::Met>{}, {floats({1, 2, 3})}));
    say(stranger, peer, with(frame_builder<proto::Exchange>{}, {floats({1, 2}), floats({3})}));
    say(stranger, peer, frame_builder<proto::ReadCommon>{});
    say(stranger, peer, frame_builder<proto::JoinPeers>{});
    BOOST_TEST(stranger.log.rejected.size() == 5u);
    BOOST_TEST(centre() == (numbers{0, 0, 8}));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_ends_it) {
    const char* const other_weights = "has not the elements of the stage's weights";
    one_centre shorter;
    shorter.meet({1, 2});
    shorter.check_ended(other_weights);
    one_centre integers;
    integers.say(integers.other, integers.peer,
                 with(frame_builder<proto::Meet>{}, {integers.integers(3)}));
    integers.check_ended(other_weights);
    one_centre stage;
    stage.hand_over({1}, 2);
    stage.check_ended("has not the shapes of the stage's weights");
    one_centre refused;
    refused.act(refused.other, [](puppet& self) { self.refuse(); });
    refused.meet({4, 8, 0});
    refused.check_ended("a peer refused a message: no");
}

BOOST_FIXTURE_TEST_CASE(a_newcomer_has_the_place_of_a_lost_peer_when_the_trainer_says_so,
                        one_centre) {
    let_newcomer_join(stranger);
    BOOST_TEST(stranger.log.rejected.size() == 1u);
    say(newcomer, peer, frame_builder<proto::ReadWeights>{});
    BOOST_TEST(newcomer.log.rejected.size() == 1u);
    let_newcomer_join(trainer);
    BOOST_TEST(trainer.log.all<proto::PeerExpected>().size() == 1u);
    say(newcomer, peer, frame_builder<proto::ReadWeights>{});
    const auto weights = newcomer.log.all<proto::PeerWeights>();
    BOOST_REQUIRE(weights.size() == 1u);
    BOOST_TEST(values_of(weights[0]->tensors()[0]) == (numbers{0, 0, 8}));
    say(newcomer, peer, with(frame_builder<proto::Meet>{}, {floats({4, 8, 0})}));
    BOOST_TEST(newcomer.log.all<proto::Met>().size() == 1u);
    meet({4, 8, 0}); // of whose place the newcomer has taken
    BOOST_TEST(other.log.rejected.size() == 1u);
}

// The stage gets what the first peer has, and only from that.
BOOST_AUTO_TEST_CASE(a_new_peer_begins_with_what_the_first_has) {
    one_centre s{false, 1, true};
    BOOST_TEST(s.other.log.all<proto::ReadWeights>().size() == 1u);
    s.say(s.stranger, s.peer, with(frame_builder<proto::PeerWeights>{}, {s.floats({1, 2, 3})}));
    BOOST_TEST(s.stage.log.all<proto::Common>().empty());
    s.say(s.other, s.peer, with(frame_builder<proto::PeerWeights>{}, {s.floats({4, 5, 6})}));
    const auto common = s.stage.log.all<proto::Common>();
    BOOST_REQUIRE(common.size() == 1u);
    BOOST_TEST(values_of(common[0]->tensors()[0]) == (numbers{4, 5}));
    BOOST_TEST(values_of(common[0]->tensors()[1]) == numbers{6});
}

BOOST_AUTO_TEST_SUITE_END()

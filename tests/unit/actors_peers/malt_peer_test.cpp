// MALT's peer between a stage and peers that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include "actors/peers/malt_peer.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;
using graph = proto::MaltGraph;
using numbers = std::vector<float>;

namespace {

frame_builder<proto::JoinPeers>
membership(std::uint32_t rank, const std::vector<actor_address>& members, const tensor& first) {
    frame_builder<proto::JoinPeers> join;
    join.body().setRank(rank);
    auto list = join.body().initMembers(static_cast<unsigned>(members.size()));
    for (unsigned r = 0; r < list.size(); ++r)
        write_address(list[r], members[r]);
    join.attach(first);
    return join;
}

// The last of three replicas.
struct third_of_three : puppet_stage {
    part& stage = add<proto::Exchanged>("stage");
    part& first = add<proto::Scatter>("first");
    part& second = add<proto::Scatter>("second");
    part& stranger = add<>("stranger");
    actor_address peer;

    explicit third_of_three(graph g = graph::ALL) {
        peer = node.spawn<malt_peer>("peer", peer_options{shared_device(), {}, {tensor_shape{2}}},
                                     g, aggregation{});
        watch(stage, peer);
        say(stage, peer, membership(2, {first.address, second.address, peer}, floats({0, 0})));
    }

    void scatter(part& from, std::uint64_t stamp, const numbers& row) {
        frame_builder<proto::Scatter> b;
        b.body().setStamp(stamp);
        b.attach(floats(row));
        say(from, peer, std::move(b));
    }
    // What the stage gets for its weights.
    numbers exchange(const numbers& own) {
        const std::size_t before = stage.log.got.size();
        frame_builder<proto::Exchange> b;
        b.attach(floats(own));
        say(stage, peer, std::move(b));
        BOOST_REQUIRE(stage.log.got.size() == before + 1);
        BOOST_TEST(stage.log.got.back()->body<proto::Exchanged>().getFactor() == 0.0f);
        return values_of(stage.log.got.back()->tensors()[0]);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(malt_peers)

BOOST_FIXTURE_TEST_CASE(what_a_sender_sends_anew_takes_the_place_of_what_it_sent_before,
                        third_of_three) {
    scatter(first, 0, {100, 200});
    scatter(first, 1, {8, 4});
    BOOST_TEST(exchange({0, 2}) == (numbers{4, 3}));
    BOOST_TEST(exchange({0, 2}) == (numbers{0, 2})); // what has come is used once
}

BOOST_FIXTURE_TEST_CASE(what_is_older_than_what_has_come_is_refused_and_changes_nothing,
                        third_of_three) {
    scatter(first, 1, {8, 4});
    scatter(first, 0, {100, 200});
    scatter(first, 1, {100, 200});
    BOOST_TEST(first.log.rejected.size() == 2u);
    BOOST_TEST(exchange({0, 2}) == (numbers{4, 3}));
    scatter(first, 1, {100, 200}); // though it has been used
    BOOST_TEST(first.log.rejected.size() == 3u);
    BOOST_TEST(exchange({0, 2}) == (numbers{0, 2}));
    scatter(second, 0, {2, 0}); // stamps are each sender's own
    BOOST_TEST(exchange({0, 2}) == (numbers{1, 1}));
}

// Of exactly what it has handed over, with stamps that count its exchanges.
BOOST_FIXTURE_TEST_CASE(weights_go_along_the_edges_once_per_exchange, third_of_three) {
    exchange({1, 2});
    exchange({3, 4});
    for (const part* other : {&first, &second}) {
        const auto got = other->log.all<proto::Scatter>();
        BOOST_REQUIRE(got.size() == 2u);
        BOOST_TEST(got[0]->body<proto::Scatter>().getStamp() == 0u);
        BOOST_TEST(got[1]->body<proto::Scatter>().getStamp() == 1u);
        BOOST_TEST(values_of(got[0]->tensors()[0]) == (numbers{1, 2}));
        BOOST_TEST(values_of(got[1]->tensors()[0]) == (numbers{3, 4}));
    }
}

// Where every replica has what all others have handed over, all get the mean: that of the models stays as it was.
BOOST_AUTO_TEST_CASE(a_reduction_of_all_that_has_come_leaves_the_mean_of_the_models) {
    constexpr std::size_t replicas = 4; // shares of a quarter are exact
    puppet_stage s;
    std::vector<actor_address> peers;
    std::vector<numbers> models;
    for (std::size_t r = 0; r < replicas; ++r) {
        s.add<proto::Exchanged>("stage");
        peers.push_back(
            s.node.spawn<malt_peer>("peer", peer_options{s.shared_device(), {}, {tensor_shape{2}}},
                                    graph::ALL, aggregation{}));
        models.push_back({static_cast<float>(r * r), 10.0f - static_cast<float>(3 * r)});
    }
    for (std::uint32_t r = 0; r < replicas; ++r)
        s.say(s.parts[r], peers[r], membership(r, peers, s.floats({0, 0})));
    // The first exchange of the last one is with all; of the second ones those of all are.
    for (int round = 0; round < 2; ++round)
        for (std::size_t r = 0; r < replicas; ++r) {
            frame_builder<proto::Exchange> b;
            b.attach(s.floats(models[r]));
            s.say(s.parts[r], peers[r], std::move(b));
        }
    numbers mean(2);
    for (const numbers& model : models)
        for (std::size_t i = 0; i < mean.size(); ++i)
            mean[i] += model[i] / static_cast<float>(replicas);
    for (std::size_t r = 0; r < replicas; ++r) {
        const auto& got = s.parts[r].log.got;
        BOOST_REQUIRE(got.size() == 2u);
        BOOST_TEST(values_of(got[1]->tensors()[0]) == mean);
        BOOST_TEST((values_of(got[0]->tensors()[0]) == mean) == (r == replicas - 1));
    }
}

BOOST_FIXTURE_TEST_CASE(who_is_dead_is_sent_nothing_and_what_it_sent_is_forgotten, third_of_three) {
    scatter(first, 0, {100, 200});
    scatter(second, 0, {2, 0});
    act(first, [](puppet& self) { self.quit(); });
    BOOST_TEST(exchange({0, 2}) == (numbers{1, 1}));
    BOOST_TEST(first.log.all<proto::Scatter>().empty());
    BOOST_TEST(second.log.all<proto::Scatter>().size() == 1u);
    act(second, [](puppet& self) { self.quit(); });
    BOOST_TEST(exchange({0, 2}) == (numbers{0, 2})); // alone it goes on
    BOOST_TEST(stage.log.downs.empty());
}

BOOST_AUTO_TEST_CASE(when_the_first_is_dead_the_next_is_the_server) {
    third_of_three s{graph::SERVER};
    s.exchange({1, 2});
    BOOST_TEST(s.first.log.all<proto::Scatter>().size() == 1u);
    BOOST_TEST(s.second.log.all<proto::Scatter>().empty());
    s.act(s.first, [](puppet& self) { self.quit(); });
    s.exchange({1, 2});
    BOOST_TEST(s.second.log.all<proto::Scatter>().size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(who_has_no_part_in_it_is_refused, third_of_three) {
    scatter(stranger, 0, {100, 200});
    BOOST_TEST(stranger.log.rejected.size() == 1u);
    BOOST_TEST(exchange({0, 2}) == (numbers{0, 2}));
}

BOOST_FIXTURE_TEST_CASE(weights_of_another_model_end_it, third_of_three) {
    scatter(first, 0, {1, 2, 3});
    BOOST_REQUIRE(stage.log.downs.size() == 1u);
    BOOST_TEST(stage.log.downs[0].find("has not the elements of the stage's weights") !=
                   std::string::npos,
               stage.log.downs[0]);
}

BOOST_AUTO_TEST_SUITE_END()

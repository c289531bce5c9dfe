// The ways for a stage's replicas to agree, each against a stage that a test plays.
#include <boost/test/unit_test.hpp>

#include "actors/messages.hpp"
#include "actors/pipeline/stage/agreement.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/params.capnp.h"
#include "schemas/peers.capnp.h"
#include "tests/unit/actors_pipeline/played_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint64_t reducer_number = 6, cache_number = 7, peer_number = 8;

// A role beside replicas 0 and 1 of the stage, which is replica 1.
stage_companion beside(const run_role& role, std::uint64_t own) {
    return {role, number(own), {number(own, 2), number(own)}};
}

// The cache, and the shards, which are not beside this replica.
stage_companions with_a_server() {
    return {beside(run_role::cache, cache_number),
            {run_role::shard, {}, {number(cache_number, 2)}}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(agreements)

BOOST_AUTO_TEST_CASE(a_stage_without_companions_updates_by_itself) {
    played_stage stage;
    const auto alone = make_agreement(stage, {});
    alone->join();
    BOOST_TEST(stage.ready == 1u);
    stage.begin_epoch(4);
    alone->begin_epoch();
    BOOST_TEST(!alone->take_update());
    BOOST_TEST(!alone->updates_together());
    BOOST_TEST((alone->at_end() == demand::nothing));
    BOOST_TEST(alone->is_settled());
    alone->gradients_complete(weight_version{98}, 0);
    BOOST_TEST(stage.its_state.counts.lags == (std::vector<std::uint64_t>{0, 0, 1}),
               boost::test_tools::per_element());
    BOOST_TEST(!alone->take(from<proto::Reduced>(reducer_number, {})));
    BOOST_TEST(stage.sent.empty());
}

BOOST_AUTO_TEST_CASE(by_sums_an_update_waits_for_the_gradients_of_all) {
    played_stage stage;
    const auto summed = make_agreement(stage, {beside(run_role::reducer, reducer_number)});
    frame_builder<proto::ConnectStage> connect;
    BOOST_TEST_REQUIRE(bool(summed->connect(connect.body())));
    BOOST_TEST(stage.last_to<proto::JoinReduction>(reducer_number).getRank() == 1u);
    stage.begin_epoch(3); // this replica has one of two rounds
    summed->begin_epoch();
    BOOST_TEST(summed->updates_together());

    BOOST_TEST(summed->begin_sum({step_kind::backward, 0, 0}) != nullptr);
    BOOST_TEST(summed->is_waiting());
    summed->take_gradients(stage.gradients(2)); // of what had no bucket
    BOOST_TEST(stage.last_to<proto::Reduce>(reducer_number).getReduction() == 0u);
    summed->take(from<proto::Reduced>(reducer_number, stage.gradients(3)));
    BOOST_TEST(stage.went_on == 1u);
    BOOST_TEST(!summed->is_waiting());
    BOOST_TEST(!summed->take_update());
    BOOST_TEST(!summed->take_update()); // asked again, while the norm is under way
    BOOST_TEST(stage.its_state.gradients[0].values<float>()[0] == 3.0f);
    stage.its_state.gradients.clear();
    summed->update_begun();

    stage.finish_update();
    BOOST_TEST(summed->take_update()); // nothing of its own: the others' sum
    const auto nothing = stage.last_to<proto::Reduce>(reducer_number);
    BOOST_TEST(nothing.getReduction() == 1u);
    BOOST_TEST(stage.sent.back().second->tensors().empty());
    summed->take(from<proto::Reduced>(reducer_number, stage.gradients(1),
                                      [](proto::Reduced::Builder b) { b.setReduction(1); }));
    BOOST_TEST(!summed->take_update());
}

BOOST_AUTO_TEST_CASE(what_others_send_in_the_reducers_name_is_rejected) {
    played_stage stage;
    const auto summed = make_agreement(stage, {beside(run_role::reducer, reducer_number)});
    frame_builder<proto::ConnectStage> connect;
    BOOST_TEST_REQUIRE(bool(summed->connect(connect.body())));
    BOOST_TEST(summed->take(from<proto::Reduced>(99, stage.gradients(3))));
    BOOST_TEST(stage.rejected == 1u);
    BOOST_TEST(stage.its_state.gradients.empty());
    const stage_companions without{{run_role::reducer, number(reducer_number), {}}};
    BOOST_TEST(!make_agreement(stage, without)->connect(connect.body()));
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_reducer_is_that_of_its_replica) {
    played_stage stage;
    const auto summed = make_agreement(stage, {beside(run_role::reducer, reducer_number)});
    frame_builder<proto::ConnectStage> connect;
    BOOST_TEST_REQUIRE(bool(summed->connect(connect.body())));
    const error lost{errc::lost, "node b is lost"};
    BOOST_TEST(summed->lose(number(reducer_number, 2), lost)->replica == 0u);
    BOOST_TEST(!summed->lose(number(77), lost));
}

BOOST_AUTO_TEST_CASE(with_a_server_gradients_go_and_the_next_weights_come) {
    played_stage stage;
    stage.its_options.agreement.sync.server = consistency{.staleness = 0};
    const auto server = make_agreement(stage, with_a_server());
    frame_builder<proto::ConnectStage> connect;
    BOOST_TEST_REQUIRE(bool(server->connect(connect.body())));
    server->join();
    BOOST_TEST(stage.last_to<proto::JoinServer>(cache_number).getWeightVersion() == 100u);
    server->take(from<proto::ServerJoined>(cache_number, {}));
    BOOST_TEST(stage.ready == 1u);
    BOOST_TEST(server->is_settled());

    stage.begin_epoch(4);
    server->begin_epoch();
    stage.last_to<proto::EnterEpoch>(cache_number);
    BOOST_TEST(server->is_waiting());
    BOOST_TEST(!server->is_settled());
    server->take(from<proto::Fetched>(cache_number, stage.gradients(10)));
    BOOST_TEST(!server->is_waiting());
    BOOST_TEST(stage.weight() == 10.0f);

    server->gradients_complete(weight_version{100}, server->reading());
    stage.its_state.gradients = stage.gradients(2);
    BOOST_TEST(server->take_update());
    BOOST_TEST(stage.last_to<proto::Offer>(cache_number).getFetch());
    BOOST_TEST(server->is_waiting());
    server->take(from<proto::Fetched>(cache_number, stage.gradients(11)));
    BOOST_TEST(stage.weight() == 11.0f);
    BOOST_TEST(stage.its_state.weights.latest()->version.value() == 101u);
    BOOST_TEST(stage.its_state.order.updates() == 1u);
    BOOST_TEST(server->reading() == 1u);

    BOOST_TEST((server->at_end() == demand::act));
    server->act_at_end();
    stage.last_to<proto::FinishEpoch>(cache_number);
    server->take(from<proto::EpochFinished>(
        cache_number, {}, [](proto::EpochFinished::Builder b) { b.setWeightVersion(107); }));
    BOOST_TEST((server->at_end() == demand::nothing));
    BOOST_TEST(server->version().value() == 107u); // the others' updates, too
    stage.its_state.arrivals.end();

    BOOST_TEST(!server->is_settled());
    server->settle();
    stage.last_to<proto::Refresh>(cache_number);
    const auto refreshed = [&](std::uint64_t version) {
        return from<proto::Fetched>(cache_number, stage.gradients(12),
                                    [&](proto::Fetched::Builder b) {
                                        b.setWeightVersion(version);
                                        b.initUpdates(2).set(0, 107);
                                    });
    };
    server->take(refreshed(107));
    BOOST_TEST(server->is_settled());
    BOOST_TEST(stage.weight() == 12.0f);
    BOOST_TEST(stage.its_state.weights.latest()->updates[0] == 107u);
    server->settle();
    server->take(refreshed(106));
    BOOST_TEST_REQUIRE(stage.failures.size() == 1u);
    BOOST_TEST(stage.failures[0] == "the parameter server has made 106 updates where 107 are due");
}

BOOST_AUTO_TEST_CASE(between_two_pulls_a_replica_steps_by_itself_and_pushes_a_sum) {
    played_stage stage;
    stage.its_options.at.replica = {0, 1};
    stage.its_options.agreement.sync.server = consistency{};
    stage.its_options.agreement.sync.push_every = 2;
    stage.its_options.agreement.sync.fetch_every = 3;
    stage.its_options.update.rates = [](std::uint64_t) { return 0.5f; };
    const auto server = make_agreement(stage, with_a_server());
    frame_builder<proto::ConnectStage> connect;
    BOOST_TEST_REQUIRE(bool(server->connect(connect.body())));
    server->join();
    stage.begin_epoch(4);
    server->begin_epoch();
    server->take(from<proto::Fetched>(cache_number, stage.gradients(10)));
    const auto train = [&](float gradient) {
        server->gradients_complete(stage.its_state.weights.latest()->version, server->reading());
        stage.its_state.gradients = stage.gradients(gradient);
        BOOST_TEST(server->take_update());
        while (!stage.work.empty())
            stage.do_work();
    };
    train(2); // 10 - 0.5 * 2
    BOOST_TEST(stage.weight() == 9.0f);
    train(4); // pushes the sum, steps on
    BOOST_TEST(stage.weight() == 7.0f);
    const auto& pushed = stage.sent.back();
    BOOST_TEST(pushed.second->tensors()[0].values<float>()[0] == 6.0f);
    BOOST_TEST(!stage.last_to<proto::Offer>(cache_number).getFetch());
    train(8); // pulls, and pushes nothing
    BOOST_TEST(!stage.last_to<proto::Offer>(cache_number).getPush());
    BOOST_TEST(server->is_waiting());
    server->take(from<proto::Fetched>(cache_number, stage.gradients(20)));
    while (!stage.work.empty())
        stage.do_work();
    BOOST_TEST(stage.weight() == 16.0f); // less the gradient that the server has not
}

BOOST_AUTO_TEST_CASE(weights_that_are_exchanged_take_the_place_of_ones_own) {
    played_stage stage;
    stage.its_options.at.replica = {1, 2};
    stage.its_options.agreement.sync.exchange = weight_exchange{
        .every = 2, .at_end = weight_exchange::ending::last_exchange, .has_common = true};
    const auto exchanged = make_agreement(stage, {beside(run_role::peer, peer_number)});
    frame_builder<proto::ConnectStage> connect;
    BOOST_TEST_REQUIRE(bool(exchanged->connect(connect.body())));
    exchanged->join();
    BOOST_TEST(stage.last_to<proto::JoinPeers>(peer_number).getRank() == 1u);
    BOOST_TEST(stage.ready == 1u);
    stage.begin_epoch(8);
    exchanged->begin_epoch();
    BOOST_TEST(!exchanged->take_update());
    stage.finish_update();
    BOOST_TEST((exchanged->before_pass() == demand::nothing));
    stage.finish_update();
    BOOST_TEST_REQUIRE((exchanged->before_pass() == demand::act));
    exchanged->act();
    const auto exchange = stage.last_to<proto::Exchange>(peer_number);
    BOOST_TEST(!exchange.getLast());
    BOOST_TEST(exchange.getRate() == 42.0f); // of the last update's minibatch
    BOOST_TEST((exchanged->before_pass() == demand::wait));
    exchanged->take(from<proto::Exchanged>(peer_number, stage.gradients(5)));
    BOOST_TEST(stage.weight() == 5.0f);
    BOOST_TEST((exchanged->before_pass() == demand::nothing));
    BOOST_TEST((exchanged->at_end() == demand::act));
    exchanged->act_at_end();
    BOOST_TEST(stage.last_to<proto::Exchange>(peer_number).getLast());
    exchanged->take(from<proto::Exchanged>(peer_number, stage.gradients(6)));
    BOOST_TEST((exchanged->at_end() == demand::nothing));
    stage.its_state.arrivals.end();

    BOOST_TEST(!exchanged->is_settled());
    exchanged->settle();
    BOOST_TEST(exchanged->is_waiting());
    exchanged->take(from<proto::Common>(peer_number, stage.gradients(7)));
    BOOST_TEST(exchanged->is_settled());
    BOOST_TEST(stage.weight() == 6.0f); // trains on with its own
    BOOST_TEST(stage.its_state.weights.settled()->parameters[0].values<float>()[0] == 7.0f);
}

BOOST_AUTO_TEST_CASE(what_is_to_be_added_is_added_after_the_next_update) {
    played_stage stage;
    stage.its_options.agreement.sync.exchange = weight_exchange{.every = 1, .overlaps = true};
    const auto exchanged = make_agreement(stage, {beside(run_role::peer, peer_number)});
    frame_builder<proto::ConnectStage> connect;
    BOOST_TEST_REQUIRE(bool(exchanged->connect(connect.body())));
    stage.begin_epoch(8);
    exchanged->begin_epoch();
    stage.finish_update();
    exchanged->act();
    BOOST_TEST((exchanged->before_pass() == demand::nothing)); // trains on
    exchanged->take(from<proto::Exchanged>(peer_number, stage.gradients(4),
                                           [](proto::Exchanged::Builder b) { b.setFactor(0.5f); }));
    BOOST_TEST((exchanged->before_pass() == demand::nothing));
    BOOST_TEST(stage.weight() == 1.0f);
    stage.finish_update();
    BOOST_TEST_REQUIRE((exchanged->before_pass() == demand::act));
    exchanged->act();
    stage.do_work();
    BOOST_TEST(stage.weight() == 3.0f);
}

BOOST_AUTO_TEST_CASE(a_newcomer_among_peers_begins_with_what_they_have) {
    played_stage stage;
    stage.its_options.agreement.sync.exchange = weight_exchange{.has_common = true};
    const auto exchanged = make_agreement(stage, {beside(run_role::peer, peer_number)});
    frame_builder<proto::ConnectStage> connect;
    connect.body().setJoins(true);
    connect.body().setWeightVersion(160);
    BOOST_TEST_REQUIRE(bool(exchanged->connect(connect.body())));
    exchanged->join();
    BOOST_TEST(stage.last_to<proto::JoinPeers>(peer_number).getAnew());
    BOOST_TEST(stage.ready == 0u);
    exchanged->take(from<proto::Common>(peer_number, stage.gradients(9)));
    BOOST_TEST(stage.ready == 1u);
    BOOST_TEST(stage.weight() == 9.0f);
    BOOST_TEST(stage.its_state.weights.latest()->version.value() == 160u);
    const error lost{errc::lost, "node a is lost"};
    BOOST_TEST(exchanged->lose(number(peer_number, 2), lost)->replica == 1u); // itself
}

BOOST_AUTO_TEST_SUITE_END()

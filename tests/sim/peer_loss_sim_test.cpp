// Peers that update on their own: replicas that are lost, and others that take their places.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "tests/sim/loss_sim.hpp"
#include "tests/support/seeds.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

const char* const methods_that_bear_loss[] = {
    "{elastic_averaging: {period: 2}}", "{gossip: {period: 1}}", "{malt: {graph: all}}",
    "{malt: {graph: halton, period: 2}}", "{admm: {penalty: 1, period: 4, quorum: 2, delay: 3}}"};

// ADMM bears no loss in a pipeline, where it is synchronous.
bool is_of_pipeline(std::uint64_t seed) {
    return seed % 3 == 0 && seed % 5 != 4;
}

// Of a pipeline's replica a stage may be on a node that is left.
void check_newcomer(std::uint64_t seed) {
    const std::uint64_t when = seed % 60;
    const bool is_pipeline = is_of_pipeline(seed);
    const std::size_t last = is_pipeline ? 5 : 2;
    pipeline_sim run{{.seed = seed + 1,
                      .faults = storm,
                      .nodes = last + 1,
                      .spare_nodes = 1,
                      .app = text_of({.layers = is_pipeline ? std::vector<std::size_t>{2, 4}
                                                            : std::vector<std::size_t>{6},
                                      .replicas = 3,
                                      .sync = methods_that_bear_loss[seed % 5],
                                      .samples = 400,
                                      .optimizer = "sgd: {learning_rate: 0.02}"})}};
    spawn_announcer(run);
    run.start({});
    run.sim().run_until([&] { return run.observer().progress.samples_done >= 100; },
                        std::chrono::minutes{5});
    kill(run, last);
    announce(run, last + 1);
    if (when >= 20) { // a replica is lost, too, while it joins or later: itself, or another
        run.sim().run_until([&] { return run.observer().notes.size() == 2; },
                            std::chrono::minutes{5});
        run.sim().run_for(std::chrono::milliseconds{when - 20});
        kill(run, seed % 2 ? last + 1 : last - (is_pipeline ? 2 : 1));
    }
    run_until_over(run);
    const run_report& report = good_report(run);
    BOOST_TEST(run.observer().epochs.size() == 2u);
    if (when >= 20)
        return;
    BOOST_REQUIRE(run.observer().notes.size() == 2u);
    BOOST_TEST(run.observer().notes[1] ==
               std::string{"replica 2 joins anew on "} +
                   (is_pipeline ? "node-4/sim:0, node-6/sim:0" : "node-3/sim:0"));
    BOOST_TEST(report.epochs.back().samples == 400u); // of the second epoch, with three again
    BOOST_TEST(report.epochs.back().train_loss < report.epochs.front().train_loss);
}

} // namespace

BOOST_AUTO_TEST_SUITE(lost_peers)

BOOST_AUTO_TEST_CASE(a_run_goes_on_without_a_replica_that_is_lost, *seeded) {
    for (const std::uint64_t seed : seed_range{60, 0}) {
        check_loss(seed, is_of_pipeline(seed), methods_that_bear_loss[seed % 5],
                   [](pipeline_sim&) {});
    }
}

BOOST_AUTO_TEST_CASE(another_node_takes_the_place_of_a_lost_replica, *seeded) {
    for (const std::uint64_t seed : seed_range{60, 0})
        check_newcomer(seed);
}

// Asked to stop while another joins: with a checkpoint of what was trained.
BOOST_DATA_TEST_CASE(a_stop_while_another_joins_saves, bdata::xrange(10), seed) {
    const temporary_folder folder;
    pipeline_sim run{
        {.seed = static_cast<std::uint64_t>(seed) + 1,
         .faults = calm,
         .nodes = 3,
         .spare_nodes = 1,
         .app = text_of({.replicas = 3, .sync = "{gossip: {period: 1}}", .samples = 800})}};
    spawn_announcer(run);
    run.start(folder.path());
    run.sim().run_until([&] { return run.observer().progress.samples_done >= 100; },
                        std::chrono::minutes{5});
    announce(run, 3);
    run.sim().kill(run.node(2)); // of a calm network everybody hears of that
    run.sim().run_until([&] { return run.observer().notes.size() == 2; }, std::chrono::minutes{5});
    run.sim().run_for(std::chrono::microseconds{seed * 20});
    run.run_node().send(run.trainer_address(), frame_builder<proto::StopRun>{});
    run_until_over(run);
    BOOST_TEST((failure_of(run).code() == errc::cancelled));
    const auto saved = list_checkpoints(folder.path()).value();
    BOOST_REQUIRE(!saved.empty());
    BOOST_TEST(saved.back().progress.epochs_done == 1u);
}

// A node whose device cannot take it on, as it is not there.
BOOST_AUTO_TEST_CASE(a_newcomer_that_cannot_be_placed_is_left_out) {
    pipeline_sim run{
        {.faults = calm,
         .nodes = 3,
         .spare_nodes = 1,
         .app = text_of({.replicas = 3, .sync = "{gossip: {period: 1}}", .samples = 800})}};
    spawn_announcer(run);
    run.start({});
    run.sim().run_until([&] { return run.observer().progress.samples_done >= 100; },
                        std::chrono::minutes{5});
    announce(run, 3, "sim:7");
    run.sim().kill(run.node(2));
    run_until_over(run);
    BOOST_TEST(!run.observer().report->failure);
    BOOST_REQUIRE(run.observer().notes.size() == 3u);
    BOOST_TEST(run.observer().notes[2].find("has no device 'sim:7'") != std::string::npos,
               run.observer().notes[2]);
    BOOST_TEST(run.observer().notes[2].find("the run goes on with 2 of 3 replicas") !=
                   std::string::npos,
               run.observer().notes[2]);
}

BOOST_AUTO_TEST_SUITE_END()

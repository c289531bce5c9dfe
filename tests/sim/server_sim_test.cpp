// Parameter servers with the actors that ship.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/sim/server_sim.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

// By how many updates the latest push comes, where the second of two replicas takes longer for a minibatch than the first
// for all.
std::uint64_t latest_beside_a_slow_replica(const std::string& sync, std::uint64_t seed) {
    pipeline_sim run{{.seed = seed,
                      .faults = storm,
                      .app = text_of({.sync = sync, .samples = 330}),
                      .slow_last = 1e7}};
    run.train({}, std::chrono::hours{10});
    return lags_of(good_report(run)).second;
}

} // namespace

BOOST_AUTO_TEST_SUITE(parameter_servers_in_the_simulator)

BOOST_AUTO_TEST_CASE(bulk_synchronous_is_bit_equal_to_one_device_with_two_microbatches) {
    const auto alone = train({.replicas = 1, .batch = 16, .microbatches = 2});
    for (const char* rule : {"bsp", "{ssp: {staleness: 0}}"})
        for (const unsigned shards : {0u, 1u, 2u})
            for (const sim_faults& faults : {calm, storm}) {
                const auto served = train({.sync = server(rule, shards)}, faults, 3);
                BOOST_TEST((served.weights == alone.weights));
                for (const stage_report& stage : served.report.stages) {
                    BOOST_TEST(stage.weight_version == 10u);
                    BOOST_TEST(stage.lags == std::vector<std::uint64_t>{10});
                }
            }
}

// In a storm minibatches go to whoever is free, so that they come together in other updates.
BOOST_AUTO_TEST_CASE(without_backups_backup_workers_are_bulk_synchronous_bit_by_bit) {
    const auto synchronous = train({.sync = server("bsp", 2)});
    const auto served = train({.sync = server("{backup_workers: {backups: 0}}", 2)});
    BOOST_TEST((served.weights == synchronous.weights));
    for (const stage_report& stage : served.report.stages)
        BOOST_TEST(stage.dropped == 0u);
}

BOOST_DATA_TEST_CASE(bulk_synchronous_is_the_gradient_of_one_minibatch_of_all_samples,
                     bdata::make({3u, 4u, 5u}), replicas) {
    const auto served =
        train({.replicas = replicas, .sync = server("bsp", 3), .samples = 70, .batch = 4});
    const auto alone = train({.replicas = 1, .samples = 70, .batch = 4 * replicas});
    BOOST_TEST(farthest(served.weights, alone.weights) < 2e-6);
}

BOOST_DATA_TEST_CASE(no_push_of_bounded_staleness_comes_later_than_the_bound_allows,
                     bdata::make({1u, 2u, 5u}) * bdata::xrange(6), staleness, seed) {
    const std::uint32_t replicas = 2 + static_cast<std::uint32_t>(seed) % 3;
    const auto served =
        train({.replicas = replicas,
               .sync = server("{ssp: {staleness: " + std::to_string(staleness) + "}}"),
               .samples = 330},
              storm, static_cast<std::uint64_t>(seed) + 1);
    const auto [pushes, latest] = lags_of(served.report);
    BOOST_TEST(pushes == 2u * 42); // each minibatch once
    BOOST_TEST(latest <= (replicas - 1) * (2 * staleness + 1));
    BOOST_TEST(served.report.stages[0].weight_version == 2u * 42);
}

// It pushes as often as it may, and once more, while the slow one computes its first gradient; fewer times if the slow one
// begins the epoch later.
BOOST_AUTO_TEST_CASE(with_bounded_staleness_a_replica_gets_ahead_of_a_slow_one_by_the_bound) {
    for (const std::uint32_t staleness : {1u, 5u, 20u}) {
        const std::string rule = "{ssp: {staleness: " + std::to_string(staleness) + "}}";
        std::uint64_t latest = 0;
        for (std::uint64_t seed = 1; seed <= 5; ++seed)
            latest = std::max(latest, latest_beside_a_slow_replica(server(rule, 1), seed));
        BOOST_TEST(latest == staleness + 1);
    }
}

BOOST_AUTO_TEST_CASE(without_a_bound_a_replica_does_nearly_all_beside_a_slow_one) {
    for (const char* rule : {"asp", "{softsync: {splits: 2}}", "{value_bounded: {bound: 1000000}}"})
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
            BOOST_TEST(latest_beside_a_slow_replica(server(rule, 1), seed) > 35u, rule);
}

BOOST_DATA_TEST_CASE(asynchronous_applies_every_minibatch_once_and_learns, bdata::xrange(8), seed) {
    const auto served =
        train({.layers = seed % 2 ? std::vector<std::size_t>{6} : std::vector<std::size_t>{2, 4},
               .replicas = 3,
               .sync = server("asp", 2),
               .samples = 330,
               .optimizer = "sgd: {learning_rate: 0.02}",
               .more = seed % 3 ? "clip: {norm: 1}" : ""},
              storm, static_cast<std::uint64_t>(seed) + 1);
    const std::size_t stages = served.report.stages.size() / 3;
    const auto [pushes, latest] = lags_of(served.report);
    BOOST_TEST(pushes == stages * 2 * 42);
    BOOST_TEST(latest > 0u);
    BOOST_TEST(served.report.epochs.back().test_loss < served.report.epochs.front().train_loss);
}

BOOST_DATA_TEST_CASE(every_rule_applies_all_that_it_does_not_drop_and_learns, bdata::xrange(24),
                     seed) {
    const char* const rules[] = {"{value_bounded: {bound: 0.05}}", "{softsync: {splits: 1}}",
                                 "{softsync: {splits: 2}}", "{backup_workers: {backups: 1}}"};
    const std::string rule = rules[seed % 4];
    const bool is_pipeline = (seed % 4 == 1 || seed % 4 == 2) && seed % 3 == 0;
    const auto served =
        train({.layers = is_pipeline ? std::vector<std::size_t>{2, 4} : std::vector<std::size_t>{6},
               .replicas = 4,
               .sync = server(rule, 2),
               .samples = 330,
               .optimizer = "sgd: {learning_rate: 0.02}"},
              storm, static_cast<std::uint64_t>(seed) + 1);
    const std::size_t stages = served.report.stages.size() / 4;
    std::uint64_t dropped = 0;
    for (const stage_report& stage : served.report.stages)
        dropped += stage.dropped;
    BOOST_TEST(lags_of(served.report).first + dropped == stages * 2 * 42);
    if (seed % 4 != 3)
        BOOST_TEST(dropped == 0u);
    if (seed % 4 == 1) // updates of four gradients each
        BOOST_TEST(served.report.stages[0].weight_version == 2u * 11);
    BOOST_TEST(served.report.epochs.back().test_loss < served.report.epochs.front().train_loss);
}

BOOST_DATA_TEST_CASE(delays_are_compensated_in_pipelines_too, bdata::xrange(8), seed) {
    const auto served =
        train({.schedule = "pipedream",
               .layers = seed % 2 ? std::vector<std::size_t>{6} : std::vector<std::size_t>{2, 4},
               .replicas = 3,
               .sync = server_with(seed % 4 < 2 ? "asp" : "{softsync: {}}",
                                   seed % 3 ? "delay_compensation: {constant: {factor: 0.04}}"
                                            : "delay_compensation: {adaptive: {}}"),
               .samples = 330,
               .optimizer = "sgd: {learning_rate: 0.02}"},
              storm, static_cast<std::uint64_t>(seed) + 1);
    BOOST_TEST(lags_of(served.report).first == served.report.stages.size() / 3 * 2 * 42);
    BOOST_TEST(served.report.epochs.back().test_loss < served.report.epochs.front().train_loss);
}

// Without a factor, delay compensation is what it is not there.
BOOST_AUTO_TEST_CASE(compensation_without_a_factor_changes_nothing) {
    const auto plain = train({.replicas = 3, .sync = server("asp")}, storm, 5);
    for (const char* how : {"constant: {factor: 0}", "adaptive: {factor: 0}"}) {
        const auto served =
            train({.replicas = 3,
                   .sync = server_with("asp", "delay_compensation: {" + std::string{how} + "}")},
                  storm, 5);
        BOOST_TEST((served.weights == plain.weights));
    }
}

// Sums of what is pushed every few minibatches, and of the rest at the end of an epoch, of 42 minibatches.
BOOST_DATA_TEST_CASE(downpour_pushes_and_pulls_as_often_as_it_says_and_flushes_the_rest,
                     bdata::make({1u, 2u, 5u, 100u}) * bdata::make({1u, 3u, 64u}), push, fetch) {
    const auto served =
        train({.layers = push == 5 ? std::vector<std::size_t>{2, 4} : std::vector<std::size_t>{6},
               .replicas = 2,
               .sync = server_with("asp", "push_every: " + std::to_string(push) +
                                              ", fetch_every: " + std::to_string(fetch)),
               .samples = 330,
               .optimizer = "adagrad: {learning_rate: 0.01}"},
              storm, push + fetch);
    const std::uint64_t updates = served.report.stages[0].weight_version;
    if (push == 1)
        BOOST_TEST(updates == 2u * 42);
    else if (push == 100)
        BOOST_TEST(updates == 2u * 2); // of each replica one an epoch: the rest
    else
        BOOST_TEST((updates >= 2 * 42 / push && updates <= 2 * (42 / push + 2)));
    BOOST_TEST(served.report.epochs.back().test_loss < served.report.epochs.front().train_loss);
}

// Of each replica on its own, plain descent by the server is what it steps by itself.
BOOST_AUTO_TEST_CASE(a_replica_that_has_all_minibatches_steps_as_one_device_however_it_pushes) {
    const std::string plain = "sgd: {learning_rate: 0.05}";
    const auto alone = train({.replicas = 1, .samples = 8, .optimizer = plain});
    for (const char* keys : {"push_every: 1", "push_every: 3, fetch_every: 2"}) {
        // One minibatch an epoch: one replica has it, the other none.
        const auto served = train(
            {.replicas = 2, .sync = server_with("asp", keys), .samples = 8, .optimizer = plain});
        BOOST_TEST(farthest(served.weights, alone.weights) == 0.0);
    }
}

BOOST_AUTO_TEST_CASE(a_stage_without_parameters_needs_no_server) {
    const auto whole = train({.sync = server("bsp"), .samples = 70});
    const auto cut = train({.layers = {1, 2, 3}, .sync = server("bsp"), .samples = 70});
    BOOST_TEST((cut.weights == whole.weights));
    const auto late = train({.layers = {1, 2, 3}, .replicas = 3, .sync = server("asp")}, storm, 2);
    BOOST_TEST(lags_of(late.report).first == 3u * 2 * 10);
}

// Gradients of a pipeline are of weights that were fetched before the last ones.
BOOST_AUTO_TEST_CASE(a_pipeline_tells_the_server_which_weights_its_gradients_are_of) {
    for (const char* sync : {"all_reduce", "{parameter_server: {consistency: bsp}}"}) {
        const auto run =
            train({.schedule = "pipedream", .layers = {2, 2, 2}, .sync = sync, .samples = 80});
        for (const stage_report& stage : run.report.stages) {
            const std::size_t late = 2 - stage.stage;
            BOOST_REQUIRE(stage.lags.size() == late + 1);
            BOOST_TEST(stage.lags[late] == 2 * (5 - late));
        }
    }
}

BOOST_AUTO_TEST_CASE(every_optimizer_keeps_its_state_on_the_server) {
    for (const char* optimizer : {"adam: {learning_rate: 0.01}", "lamb: {learning_rate: 0.01}"}) {
        const auto alone =
            train({.replicas = 1, .batch = 16, .microbatches = 2, .optimizer = optimizer});
        const auto served = train({.sync = server("bsp"), .optimizer = optimizer});
        BOOST_TEST((served.weights == alone.weights)); // with the optimizer's state
    }
}

BOOST_AUTO_TEST_CASE(a_stopped_run_goes_on_from_what_the_server_had) {
    check_stop_and_resume({.replicas = 3,
                           .sync = server("bsp"),
                           .samples = 70,
                           .batch = 4,
                           .more = "schedule: {cosine: {}}"});
}

BOOST_AUTO_TEST_CASE(a_lost_node_ends_the_run_with_its_replica) {
    pipeline_sim run{{.faults = calm,
                      .nodes = 3,
                      .app = text_of({.replicas = 3, .sync = server("asp"), .samples = 8000})}};
    run.start({});
    run.sim().run_until([&] { return run.observer().progress.samples_done >= 800; },
                        std::chrono::minutes{5});
    run.sim().kill(run.node(2));
    run.sim().run_until([&] { return run.observer().report.has_value(); }, std::chrono::seconds{5});
    const std::string& sentence = failure_of(run).message();
    BOOST_TEST(sentence.find("stage 0 of replica 2 on node-2/sim:0") != std::string::npos,
               sentence);
    run.sim().run_for(std::chrono::seconds{5});
    for (const char* gone : {"stage-0.0", "cache-0.0", "shard-0.0"})
        BOOST_TEST(!run.node(0).address_of(gone).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

// Compressed pushes to parameter servers with the actors that ship.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/sim/server_sim.hpp"
#include "tests/support/seeds.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

const std::vector<std::string> codecs{
    "bf16",
    "f16",
    "int8",
    "one_bit",
    "{threshold: {threshold: 0.01}}",
    "{top_k: {ratio: 0.1}}",
    "{deep_gradient: {ratio: 0.1, warmup_epochs: 1, clip_norm: 1}}",
    "{top_k: {ratio: 0.1, values: f16}}",
    "{top_k: {ratio: 0.1, values: int8}}",
    "{top_k: {ratio: 0.1, values: int4}}",
    "{deep_gradient: {ratio: 0.1, clip_norm: 1, values: int4}}",
    "tern_grad",
    "qsgd",
    "{power_sgd: {rank: 1}}"};

// Whose keys the server has, and how pushes are compressed.
std::string compressed(const std::string& consistency, const std::string& codec,
                       const std::string& more = "shards: 2") {
    return "{parameter_server: {consistency: " + consistency + ", " + more + "}, codec: " + codec +
           "}";
}
// Deep gradients bring their own momentum.
constexpr const char* plain_sgd = "sgd: {learning_rate: 0.05}";
constexpr const char* slow_sgd = "sgd: {learning_rate: 0.02}";

} // namespace

BOOST_AUTO_TEST_SUITE(compressed_pushes_in_the_simulator)

BOOST_AUTO_TEST_CASE(with_a_share_of_1_or_none_a_run_is_that_without_a_codec_bit_for_bit) {
    for (const char* keys : {"shards: 2", "shards: 1", "node_servers: true"}) {
        const auto plain = train({.sync = server_with("bsp", keys)});
        for (const char* codec : {"none", "{top_k: {ratio: 1}}"})
            for (const sim_faults& faults : {calm, storm}) {
                const auto run = train({.sync = compressed("bsp", codec, keys)}, faults, 3);
                BOOST_TEST((run.weights == plain.weights), keys << " " << codec);
            }
    }
    const auto alone = train({.replicas = 1, .samples = 8, .optimizer = plain_sgd});
    for (const char* keys : {"push_every: 1", "push_every: 3, fetch_every: 2"}) {
        // One minibatch an epoch: one replica has it, the other none.
        const auto served = train({.replicas = 2,
                                   .sync = compressed("asp", "{top_k: {ratio: 1}}", keys),
                                   .samples = 8,
                                   .optimizer = plain_sgd});
        BOOST_TEST(farthest(served.weights, alone.weights) == 0.0);
    }
}

// All is sent at once, and nothing has momentum, a vector neither.
BOOST_AUTO_TEST_CASE(deep_gradients_with_a_share_of_1_and_no_momentum_are_plain_descent) {
    const char* const all_sent = "{deep_gradient: {ratio: 1, momentum: 0}}";
    replicas_app app{.replicas = 3, .samples = 70, .batch = 4, .optimizer = plain_sgd};
    app.sync = server("bsp", 2);
    const auto served = train(app);
    app.sync = compressed("bsp", all_sent);
    BOOST_TEST((train(app, storm, 3).weights == served.weights));
    app.replicas = 2; // of more the sums would be in other orders
    app.sync = "all_reduce";
    const auto reduced = train(app);
    app.sync = std::string{"{all_reduce: {}, codec: "} + all_sent + "}";
    BOOST_TEST((train(app, storm, 3).weights == reduced.weights));
}

BOOST_TEST_DECORATOR(*seeded)
BOOST_DATA_TEST_CASE(every_codec_trains_and_no_storm_changes_a_bit, bdata::xrange(codecs.size()),
                     c) {
    replicas_app app{.layers = {2, 4},
                     .replicas = 3,
                     .sync = compressed("bsp", codecs[c]),
                     .samples = 70, // a replica has none of the last round
                     .optimizer = plain_sgd};
    const auto first = train(app);
    for (const std::uint64_t seed : seed_range{5, 7 + 5 * c})
        BOOST_TEST((train(app, storm, seed).weights == first.weights));
    app.sync = server("bsp", 2);
    const auto plain = train(app);
    BOOST_TEST((plain.weights != first.weights));
    BOOST_TEST(farthest(plain.weights, first.weights) < 0.2);
}

BOOST_DATA_TEST_CASE(every_rule_applies_all_that_it_does_not_drop_and_learns,
                     bdata::xrange(2 * codecs.size()), c) {
    const std::string& codec = codecs[c % codecs.size()];
    const std::string servers[] = {
        compressed("{ssp: {staleness: 2}}", codec),
        compressed("asp", codec, "node_servers: true"),
        compressed("{value_bounded: {bound: 0.05}}", codec),
        compressed("{softsync: {splits: 2}}", codec),
        compressed("{backup_workers: {backups: 1}}", codec, "aggregation: median"),
        compressed("asp", codec, "delay_compensation: {adaptive: {}}")};
    for (const std::string& sync : servers) {
        const auto served =
            train({.replicas = 4, .sync = sync, .samples = 330, .optimizer = slow_sgd}, storm, c);
        std::uint64_t dropped = 0;
        for (const stage_report& stage : served.report.stages)
            dropped += stage.dropped;
        BOOST_TEST(lags_of(served.report).first + dropped == 2u * 42, sync);
        if (sync.find("backups") == std::string::npos)
            BOOST_TEST(dropped == 0u, sync);
        BOOST_TEST(served.report.epochs.back().test_loss < served.report.epochs.front().train_loss,
                   sync);
    }
}

BOOST_AUTO_TEST_CASE(sufficient_factors_train_as_whole_gradients_do_but_for_rounding) {
    for (const std::uint32_t microbatches : {1u, 2u}) {
        replicas_app app{.layers = {2, 4},
                         .replicas = 3,
                         .sync = server("bsp", 2),
                         .samples = 74, // a replica has none of the last round, another a short one
                         .batch = 4,
                         .microbatches = microbatches};
        const auto whole = train(app);
        app.sync = compressed("bsp", "sufficient_factors");
        const auto factors = train(app);
        BOOST_TEST(farthest(factors.weights, whole.weights) < 1e-5);
        BOOST_TEST((train(app, storm, 9).weights == factors.weights));
        app.sync = compressed("{ssp: {staleness: 1}}", "sufficient_factors");
        const auto late = train(app, storm, 11);
        BOOST_TEST(late.report.epochs.back().test_loss < late.report.epochs.front().train_loss);
    }
}

// Of 42 minibatches the sums of five are encoded, and that of the rest.
BOOST_DATA_TEST_CASE(downpour_compresses_what_it_has_summed, bdata::xrange(codecs.size()), c) {
    const std::string& codec = codecs[c];
    const std::string adagrad = "adagrad: {learning_rate: 0.01}";
    const auto served = train({.replicas = 2,
                               .sync = compressed("asp", codec, "push_every: 5, fetch_every: 3"),
                               .samples = 330,
                               .optimizer = codec.starts_with("{deep") ? plain_sgd : adagrad},
                              storm, c);
    const std::uint64_t updates = served.report.stages[0].weight_version;
    BOOST_TEST((updates >= 2 * 42 / 5 && updates <= 2 * (42 / 5 + 2)));
    BOOST_TEST(served.report.epochs.back().test_loss < served.report.epochs.front().train_loss);
}

BOOST_AUTO_TEST_SUITE_END()

// Compressed gradients with the actors that ship.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/sim/replicas_sim.hpp"
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
    "{threshold: {threshold: 1e20}}", // nothing is sent
    "{top_k: {ratio: 0.1}}",
    "{deep_gradient: {ratio: 0.1, warmup_epochs: 1, clip_norm: 1}}",
    "{top_k: {ratio: 0.1, values: f16}}",
    "{top_k: {ratio: 0.1, values: int8}}",
    "{top_k: {ratio: 0.1, values: int4}}",
    "{deep_gradient: {ratio: 0.1, clip_norm: 1, values: int4}}",
    "tern_grad",
    "qsgd",
    "{power_sgd: {rank: 1}}"};

std::string all_reduce_with(const std::string& codec) {
    return "{all_reduce: {}, codec: " + codec + "}";
}
// Deep gradients bring their own momentum.
constexpr const char* plain_sgd = "sgd: {learning_rate: 0.05}";

} // namespace

BOOST_AUTO_TEST_SUITE(codecs_in_the_simulator)

BOOST_AUTO_TEST_CASE(with_a_share_of_1_or_none_a_run_is_that_without_a_codec_bit_for_bit) {
    for (const std::string norm : {"", "    - batch_norm\n"}) { // with running averages
        const std::vector<std::size_t> layers{norm.empty() ? 6u : 7u};
        const auto summed = train({.layers = layers, .norm = norm});
        for (const std::string codec : {"none", "{top_k: {ratio: 1}}"}) {
            const auto sync = all_reduce_with(codec);
            BOOST_TEST(
                (train({.layers = layers, .sync = sync, .norm = norm}).weights == summed.weights),
                codec << norm);
        }
    }
}

BOOST_DATA_TEST_CASE(every_codec_trains_and_no_storm_changes_a_bit, bdata::xrange(codecs.size()),
                     c) {
    replicas_app app{.layers = {2, 4},
                     .replicas = 3,
                     .sync = all_reduce_with(codecs[c]),
                     .samples = 70, // a replica has none of the last round
                     .optimizer = plain_sgd};
    const auto first = train(app);
    BOOST_TEST((train(app, storm, 7 + c).weights == first.weights));
    app.sync = "all_reduce";
    const auto plain = train(app);
    BOOST_TEST((plain.weights != first.weights));
    if (codecs[c].find("1e20") == std::string::npos)
        BOOST_TEST(farthest(plain.weights, first.weights) < 0.2);
}

BOOST_AUTO_TEST_CASE(sufficient_factors_train_as_whole_gradients_do_but_for_rounding) {
    for (const std::vector<std::size_t>& layers : {std::vector<std::size_t>{6}, {2, 4}})
        for (const std::uint32_t microbatches : {1u, 2u}) {
            replicas_app app{.layers = layers,
                             .replicas = 3,
                             .samples =
                                 74, // a replica has none of the last round, another a short one
                             .batch = 4,
                             .microbatches = microbatches,
                             .more = "clip: {norm: 1}"};
            const auto whole = train(app);
            app.sync = all_reduce_with("sufficient_factors");
            const auto factors = train(app);
            if (microbatches > 1) // summed in another order
                BOOST_TEST((factors.weights != whole.weights));
            BOOST_TEST(farthest(factors.weights, whole.weights) < 1e-5);
            BOOST_TEST((train(app, storm, 9).weights == factors.weights));
        }
}

BOOST_AUTO_TEST_CASE(no_storm_of_a_thousand_changes_a_bit_of_a_compressed_sum, *seeded) {
    auto all = codecs;
    all.emplace_back("sufficient_factors");
    std::map<std::string, saved_tensors> calm_weights;
    for (const std::uint64_t seed : seed_range{1000, 3000}) {
        const replicas_app app{.replicas = 2u + static_cast<std::uint32_t>(seed / 11 % 3),
                               .sync = all_reduce_with(all[seed % all.size()]),
                               .samples = 14,
                               .batch = 2,
                               .optimizer = plain_sgd};
        const std::string text = text_of(app);
        if (!calm_weights.contains(text))
            calm_weights[text] = train(app).weights;
        BOOST_TEST((train(app, storm, seed).weights == calm_weights[text]));
    }
}

BOOST_AUTO_TEST_SUITE_END()

// Stages with replicas of their own: minibatches in turns, gradients summed within the stage.
#include <boost/test/data/test_case.hpp>

#include <numeric>

#include "tests/sim/replicas_sim.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

std::string app_with(const std::vector<std::size_t>& layers,
                     const std::vector<std::uint32_t>& replicas, unsigned epochs,
                     const std::string& codec = "none") {
    std::string text = pipeline_app("pipedream", layers, epochs);
    const std::string topology = "topology: {";
    text.insert(text.find(topology) + topology.size(),
                "sync: {all_reduce: {}, codec: " + codec + "}, ");
    std::size_t at = 0;
    for (const std::uint32_t r : replicas) {
        at = text.find("}", text.find("{layers: ", at));
        text.insert(at, ", replicas: " + std::to_string(r));
    }
    return text + "checkpoint: {directory: unused}\n";
}

struct replicated {
    std::vector<std::size_t> layers;
    std::vector<std::uint32_t> replicas;
};

// What gradients of two replicas sum to does not depend on their order, so that these are equal bit by bit.
const std::vector<replicated> pipelines = {{{3, 3}, {2, 1}},
                                           {{3, 3}, {1, 2}},
                                           {{1, 3, 2}, {2, 1, 2}},
                                           {{1, 3, 2}, {1, 2, 1}},
                                           {{1, 1, 2, 2}, {2, 2, 1, 1}}};

// Of three replicas some are without a minibatch in the last round, and the order of the sum matters.
const std::vector<replicated> with_three = {{{3, 3}, {3, 1}},
                                            {{3, 3}, {2, 1}},
                                            {{1, 3, 2}, {1, 3, 2}},
                                            {{1, 3, 2}, {2, 1, 2}},
                                            {{3, 3}, {1, 3}}};

std::unique_ptr<pipeline_sim> run(const replicated& p, const temporary_folder& folder,
                                  const sim_faults& faults, std::uint64_t seed, unsigned epochs = 2,
                                  const std::string& codec = "none") {
    const std::size_t devices =
        std::accumulate(p.replicas.begin(), p.replicas.end(), std::size_t{0});
    auto sim = std::make_unique<pipeline_sim>(
        pipeline_sim_options{.seed = seed,
                             .faults = faults,
                             .nodes = devices,
                             .app = app_with(p.layers, p.replicas, epochs, codec)});
    sim->train(folder.path());
    BOOST_REQUIRE(sim->observer().report.has_value());
    const run_report& report = *sim->observer().report;
    BOOST_REQUIRE_MESSAGE(!report.failure, (report.failure ? report.failure->message() : ""));
    return sim;
}

void check(const replicated& p, const sim_faults& faults, std::uint64_t seed) {
    const temporary_folder folder;
    const auto sim = run(p, folder, faults, seed);
    const auto app = parse_app(app_with(p.layers, p.replicas, 2), "app.yaml").value();
    check_weights(folder.path(), sim->sequential(p.layers, p.replicas), p.layers,
                  app.app().getModel());
    for (const stage_report& stage : sim->observer().report->stages)
        BOOST_TEST(stage.weight_version == 18u); // two epochs of nine minibatches
}

// What an epoch of this pipeline saves.
saved_tensors saved_by(const replicated& p, const std::string& codec, const sim_faults& faults,
                       std::uint64_t seed) {
    const temporary_folder folder;
    run(p, folder, faults, seed, 1, codec);
    return saved_in(folder.path());
}

} // namespace

BOOST_AUTO_TEST_SUITE(stage_replicas)

BOOST_DATA_TEST_CASE(weights_equal_those_of_the_sequential_program, bdata::xrange(pipelines.size()),
                     which) {
    check(pipelines[which], calm, 1);
}

BOOST_DATA_TEST_CASE(delay_and_order_change_no_bit, bdata::xrange(40), seed) {
    const sim_faults storm{.delay_min = std::chrono::microseconds{10},
                           .delay_max = std::chrono::milliseconds{5}};
    check(pipelines[static_cast<std::size_t>(seed) % pipelines.size()], storm,
          static_cast<std::uint64_t>(seed));
}

// Five pipelines with each codec, calm once, and then with delays, losses, duplicates and another order by every seed.
BOOST_AUTO_TEST_CASE(no_weather_changes_a_bit_of_them_with_a_codec_or_without) {
    const char* const codecs[] = {"none",
                                  "bf16",
                                  "{top_k: {ratio: 0.1}}",
                                  "power_sgd",
                                  "int8",
                                  "{threshold: {threshold: 0.001}}",
                                  "one_bit",
                                  "sufficient_factors"};
    std::map<std::pair<std::size_t, std::size_t>, saved_tensors> calm_weights;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const std::size_t which = seed % with_three.size(), codec = seed % std::size(codecs);
        auto& expected = calm_weights[{which, codec}];
        if (expected.empty())
            expected = saved_by(with_three[which], codecs[codec], calm, 1);
        BOOST_TEST_REQUIRE((saved_by(with_three[which], codecs[codec], storm, seed) == expected),
                           codecs[codec] << ", pipeline " << which << ", seed " << seed);
    }
    BOOST_TEST(calm_weights.size() == with_three.size() * std::size(codecs));
    for (std::size_t which = 0; which < with_three.size(); ++which) // bf16 has been used
        BOOST_TEST((calm_weights[{which, 0}] != calm_weights[{which, 1}]));
}

BOOST_AUTO_TEST_CASE(compressed_gradients_of_a_stage_train_to_the_end) {
    for (const char* codec : {"bf16", "{top_k: {ratio: 0.3}}", "one_bit", "power_sgd"}) {
        const temporary_folder folder;
        const auto sim = run({{1, 3, 2}, {2, 3, 1}}, folder, storm, 7, 6, codec);
        BOOST_TEST(sim->observer().report->epochs.back().train_loss <
                   sim->observer().report->epochs.front().train_loss);
    }
}

BOOST_AUTO_TEST_CASE(any_numbers_of_replicas_train_to_the_end) {
    for (const std::vector<std::uint32_t>& replicas : std::vector<std::vector<std::uint32_t>>{
             {3, 1, 2}, {1, 4, 1}, {5, 1, 1}, {1, 2, 3}, {2, 3, 4}}) {
        const temporary_folder folder;
        const auto sim = run({{1, 3, 2}, replicas}, folder, calm, 7, 6);
        BOOST_TEST(sim->observer().report->epochs.back().train_loss <
                   sim->observer().report->epochs.front().train_loss);
    }
}

BOOST_AUTO_TEST_SUITE_END()

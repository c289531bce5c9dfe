// Stages with replicas of their own: minibatches in turns, gradients summed within the stage.
#include <boost/test/data/test_case.hpp>

#include <numeric>

#include "tests/sim/replicas_sim.hpp"
#include "tests/support/seeds.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

struct replicated {
    std::vector<std::size_t> layers;
    std::vector<std::uint32_t> replicas;
    unsigned epochs = 2;
    std::string codec = "none";
    std::string optimizer = default_optimizer;
    std::string rate = "per_sample";
    std::string more = {}; // further keys of train
};

std::string app_with(const replicated& p) {
    std::string text = pipeline_app("pipedream", p.layers, p.epochs, p.optimizer, p.more);
    replace(text, "topology: {", "topology: {sync: {all_reduce: {}, codec: " + p.codec + "}, ");
    replace(text, "schedule: pipedream", "schedule: pipedream, rate: " + p.rate);
    std::size_t at = 0;
    for (const std::uint32_t r : p.replicas) {
        at = text.find("}", text.find("{layers: ", at));
        text.insert(at, ", replicas: " + std::to_string(r));
    }
    return text + "checkpoint: {directory: unused}\n";
}

constexpr const char* rules[] = {"sgd: {learning_rate: 0.01, momentum: 0.9}",
                                 "adam: {learning_rate: 0.01}",
                                 "adamw: {learning_rate: 0.01, weight_decay: 0.1}",
                                 "lars: {learning_rate: 0.01, weight_decay: 0.1}",
                                 "lamb: {learning_rate: 0.01, weight_decay: 0.1}"};

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

std::unique_ptr<pipeline_sim> run_app(const std::string& app, std::size_t devices,
                                      const temporary_folder& folder, const sim_faults& faults,
                                      std::uint64_t seed) {
    auto sim = std::make_unique<pipeline_sim>(
        pipeline_sim_options{.seed = seed, .faults = faults, .nodes = devices, .app = app});
    sim->train(folder.path());
    good_report(*sim);
    return sim;
}

std::unique_ptr<pipeline_sim> run(const replicated& p, const temporary_folder& folder,
                                  const sim_faults& faults, std::uint64_t seed) {
    const std::size_t devices =
        std::accumulate(p.replicas.begin(), p.replicas.end(), std::size_t{0});
    return run_app(app_with(p), devices, folder, faults, seed);
}

void check(const replicated& p, const sim_faults& faults, std::uint64_t seed) {
    const temporary_folder folder;
    const auto sim = run(p, folder, faults, seed);
    check_saved(*sim, folder.path(), {.layers = p.layers, .delayed = true, .replicas = p.replicas});
    for (const stage_report& stage : sim->observer().report->stages)
        BOOST_TEST(stage.weight_version == 9u * p.epochs); // minibatches
}

// What an epoch of this pipeline saves.
saved_tensors saved_by(replicated p, const std::string& codec, const sim_faults& faults,
                       std::uint64_t seed) {
    p.epochs = 1;
    p.codec = codec;
    const temporary_folder folder;
    run(p, folder, faults, seed);
    return saved_in(folder.path());
}

// What 12 epochs save of a model whose parameters are all in one stage, the first or the last; the other has a layer without
// any. Samples come in their order.
saved_tensors saved_of(std::string text, bool is_first, unsigned batch, std::size_t devices) {
    const std::string layer = is_first ? "    - linear: {out: 3}\n" : "    - conv2d";
    replace(text, "train_samples: 70", is_first ? "train_samples: 16" : "train_samples: 64");
    replace(text, "batch: 8", "batch: " + std::to_string(batch) + ", shuffle: false");
    replace(text, layer, is_first ? layer + "    - softmax\n" : "    - relu\n" + layer);
    const temporary_folder folder;
    run_app(text, devices, folder, calm, 1);
    return saved_in(folder.path());
}
saved_tensors saved_of_two(bool is_first, const std::string& optimizer, const std::string& rate) {
    replicated p{{6, 1}, {2, 1}, 12, "none", optimizer, rate};
    if (!is_first) {
        std::ranges::reverse(p.layers);
        std::ranges::reverse(p.replicas);
    }
    return saved_of(app_with(p), is_first, 8, 3);
}
saved_tensors saved_of_one(bool is_first, const std::string& optimizer) {
    return saved_of(pipeline_app("gpipe", {7}, 12, optimizer) + "checkpoint: {directory: unused}\n",
                    is_first, 16, 1);
}

} // namespace

BOOST_AUTO_TEST_SUITE(stage_replicas)

BOOST_DATA_TEST_CASE(weights_equal_those_of_the_sequential_program, bdata::xrange(pipelines.size()),
                     which) {
    check(pipelines[which], calm, 1);
}

// Whose step is the number of updates: of a stage with replicas fewer than of minibatches.
BOOST_DATA_TEST_CASE(so_they_do_with_any_optimizer_at_either_rate,
                     bdata::xrange(pipelines.size()) * bdata::make(rules) *
                         bdata::make({"per_sample", "per_update"}),
                     which, optimizer, rate) {
    replicated p = pipelines[which];
    p.epochs = 3;
    p.optimizer = optimizer;
    p.rate = rate;
    p.more = "warmup_minibatches: 12, schedule: {polynomial: {}}";
    check(p, calm, 1);
}

// In the last stage no weights are late, in the first they are but where an epoch is one round.
BOOST_DATA_TEST_CASE(a_stage_of_two_replicas_is_one_device_with_minibatches_of_twice_the_size,
                     bdata::make({false, true}) * bdata::make(rules), is_first, rule) {
    const std::string once = rule;
    std::string twice = once;
    replace(twice, "rate: 0.01", "rate: 0.02");
    const auto one = saved_of_one(is_first, once);
    BOOST_TEST(farthest(saved_of_two(is_first, once, "per_update"), one) < 1e-4);
    const auto per_sample = saved_of_two(is_first, once, "per_sample");
    BOOST_TEST(farthest(per_sample, saved_of_one(is_first, twice)) < 1e-4);
    BOOST_TEST(farthest(per_sample, one) > 1e-3);
}

BOOST_DATA_TEST_CASE(delay_and_order_change_no_bit, bdata::xrange(40), seed) {
    const sim_faults storm{.delay_min = std::chrono::microseconds{10},
                           .delay_max = std::chrono::milliseconds{5}};
    check(pipelines[static_cast<std::size_t>(seed) % pipelines.size()], storm,
          static_cast<std::uint64_t>(seed));
}

// Five pipelines with each codec, calm once, and then with delays, losses, duplicates and another order by every seed.
BOOST_AUTO_TEST_CASE(no_weather_changes_a_bit_of_them_with_a_codec_or_without, *seeded) {
    const char* const codecs[] = {"none",
                                  "bf16",
                                  "{top_k: {ratio: 0.1}}",
                                  "power_sgd",
                                  "int8",
                                  "{threshold: {threshold: 0.001}}",
                                  "one_bit",
                                  "sufficient_factors"};
    const seed_range seeds{1000};
    std::map<std::pair<std::size_t, std::size_t>, saved_tensors> calm_weights;
    for (const std::uint64_t seed : seeds) {
        const std::size_t which = seed % with_three.size(), codec = seed % std::size(codecs);
        auto& expected = calm_weights[{which, codec}];
        if (expected.empty())
            expected = saved_by(with_three[which], codecs[codec], calm, 1);
        BOOST_TEST_REQUIRE((saved_by(with_three[which], codecs[codec], storm, seed) == expected),
                           codecs[codec] << ", pipeline " << which);
    }
    if (seeds.are_few())
        return;
    BOOST_TEST(calm_weights.size() == with_three.size() * std::size(codecs));
    for (std::size_t which = 0; which < with_three.size(); ++which) // bf16 has been used
        BOOST_TEST((calm_weights[{which, 0}] != calm_weights[{which, 1}]));
}

BOOST_AUTO_TEST_CASE(compressed_gradients_of_a_stage_train_to_the_end) {
    for (const char* codec : {"bf16", "{top_k: {ratio: 0.3}}", "one_bit", "power_sgd"}) {
        const temporary_folder folder;
        const auto sim = run({.layers = {1, 3, 2},
                              .replicas = {2, 3, 1},
                              .epochs = 6,
                              .codec = codec,
                              .rate = "per_update"},
                             folder, storm, 7);
        BOOST_TEST(sim->observer().report->epochs.back().train_loss <
                   sim->observer().report->epochs.front().train_loss);
    }
}

BOOST_AUTO_TEST_CASE(any_numbers_of_replicas_train_to_the_end) {
    for (const std::vector<std::uint32_t>& replicas : std::vector<std::vector<std::uint32_t>>{
             {3, 1, 2}, {1, 4, 1}, {5, 1, 1}, {1, 2, 3}, {2, 3, 4}}) {
        const temporary_folder folder;
        const auto sim =
            run({.layers = {1, 3, 2}, .replicas = replicas, .epochs = 6, .rate = "per_update"},
                folder, calm, 7);
        BOOST_TEST(sim->observer().report->epochs.back().train_loss <
                   sim->observer().report->epochs.front().train_loss);
    }
}

BOOST_AUTO_TEST_SUITE_END()

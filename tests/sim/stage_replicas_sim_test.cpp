// Stages with replicas of their own: minibatches in turns, gradients summed within the stage.
#include <boost/test/data/test_case.hpp>

#include <numeric>

#include "tests/sim/pipeline_checks.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

std::string app_with(const std::vector<std::size_t>& layers,
                     const std::vector<std::uint32_t>& replicas, unsigned epochs) {
    std::string text = pipeline_app("pipedream", layers, epochs);
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

std::unique_ptr<pipeline_sim> run(const replicated& p, const temporary_folder& folder,
                                  const sim_faults& faults, std::uint64_t seed,
                                  unsigned epochs = 2) {
    const std::size_t devices =
        std::accumulate(p.replicas.begin(), p.replicas.end(), std::size_t{0});
    auto sim = std::make_unique<pipeline_sim>(
        pipeline_sim_options{.seed = seed,
                             .faults = faults,
                             .nodes = devices,
                             .app = app_with(p.layers, p.replicas, epochs)});
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

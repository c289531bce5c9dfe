// The weights of every replica, not only of the first, which is saved: those that sum their gradients have the same bits.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>

#include "actors/training/plan/training_app.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "tests/sim/recording_operations.hpp"
#include "tests/sim/replicas_sim.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

// The weights of each replica at the end, and those that are saved, tensor by tensor.
struct weights_of_all {
    std::vector<std::vector<std::vector<float>>> replicas;
    std::vector<std::vector<float>> saved;
};

std::vector<std::vector<float>> last_weights(const recording_operations& recorder,
                                             std::size_t tensors) {
    const auto& updates = recorder.updates();
    BOOST_REQUIRE(updates.size() >= tensors);
    std::vector<std::vector<float>> last;
    for (std::size_t t = updates.size() - tensors; t < updates.size(); ++t)
        last.push_back(updates[t].after);
    return last;
}

weights_of_all train_all(const replicas_app& a, const sim_faults& faults, std::uint64_t seed,
                         std::size_t devices_of_node) {
    memory_pool pool{1ull << 28};
    const auto ops = make_cpu_operations(pool);
    std::deque<recording_operations> recorders;
    for (std::uint32_t r = 0; r < a.replicas; ++r)
        recorders.emplace_back(*ops);
    const temporary_folder folder;
    pipeline_sim run{{.seed = seed,
                      .faults = faults,
                      .nodes = a.replicas / devices_of_node,
                      .devices_of_node = devices_of_node,
                      .app = text_of(a),
                      .operations_of = [&](std::size_t d) -> operations& { return recorders[d]; }}};
    run.train(folder.path());
    good_report(run);
    const auto program = stage_program::whole(run.app().app().getModel()).value();
    const saved_tensors saved = saved_in(folder.path());
    weights_of_all all;
    for (const auto& parameter : program.parameters())
        all.saved.push_back(saved.at(parameter.name));
    for (const recording_operations& recorder : recorders)
        all.replicas.push_back(last_weights(recorder, all.saved.size()));
    return all;
}

void check_same(const weights_of_all& all) {
    for (const auto& of_replica : all.replicas)
        BOOST_TEST((of_replica == all.saved));
}

const char* const codecs[] = {"bf16",
                              "one_bit",
                              "int8",
                              "tern_grad",
                              "power_sgd",
                              "{top_k: {ratio: 0.1}}",
                              "{threshold: {threshold: 0.001}}",
                              "sufficient_factors"};

} // namespace

BOOST_AUTO_TEST_SUITE(weights_of_replicas)

// 70 samples leave some replicas without a minibatch in the last round.
BOOST_DATA_TEST_CASE(sums_leave_all_replicas_with_the_same_bits_in_any_weather,
                     bdata::make(algorithms()) * bdata::make({2u, 3u, 4u}), algorithm, replicas) {
    const replicas_app app{.replicas = replicas, .sync = all_reduce_by(algorithm), .samples = 70};
    const auto still = train_all(app, calm, 1, 1);
    check_same(still);
    for (std::uint64_t seed = 2; seed < 5; ++seed) {
        const auto stormy = train_all(app, storm, seed, 1);
        check_same(stormy);
        BOOST_TEST((stormy.saved == still.saved));
    }
}

BOOST_DATA_TEST_CASE(two_nodes_with_two_replicas_each_are_one_with_larger_minibatches,
                     bdata::make(algorithms()), algorithm) {
    const replicas_app app{
        .replicas = 4, .sync = all_reduce_by(algorithm), .samples = 70, .batch = 4};
    const auto still = train_all(app, calm, 1, 2);
    check_same(still);
    for (std::uint64_t seed = 2; seed < 5; ++seed) {
        const auto stormy = train_all(app, storm, seed, 2);
        check_same(stormy);
        BOOST_TEST((stormy.saved == still.saved));
    }
    const auto alone = train_all({.replicas = 1, .samples = 70, .batch = 16}, calm, 1, 1);
    for (std::size_t p = 0; p < alone.saved.size(); ++p)
        for (std::size_t i = 0; i < alone.saved[p].size(); ++i)
            BOOST_TEST(std::abs(alone.saved[p][i] - still.saved[p][i]) < 2e-6);
}

BOOST_DATA_TEST_CASE(compressed_sums_do_so_on_nodes_with_one_replica_or_two, bdata::make(codecs),
                     codec) {
    for (const std::size_t devices_of_node : {1u, 2u}) {
        const replicas_app app{.replicas = 4,
                               .sync = "{all_reduce: {}, codec: " + std::string{codec} + "}",
                               .samples = 70};
        const auto still = train_all(app, calm, 1, devices_of_node);
        check_same(still);
        const auto stormy = train_all(app, storm, 2, devices_of_node);
        check_same(stormy);
        BOOST_TEST((stormy.saved == still.saved));
    }
}

BOOST_AUTO_TEST_SUITE_END()

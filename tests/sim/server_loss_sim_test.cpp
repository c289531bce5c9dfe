// Parameter servers with replicas that are lost, that join, that share a node, that lie.
#include <boost/test/unit_test.hpp>

#include <limits>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/sim/loss_sim.hpp"
#include "tests/sim/server_sim.hpp"
#include "tests/support/passing_operations.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// A device that computes gradients of linear layers that are nonsense.
class lying_operations final : public passing_operations<lying_operations> {
  public:
    lying_operations(operations& honest, float lie) : passing_operations{honest}, lie_{lie} {}

    template <class Operation>
    void after(const Operation&) {}
    void after(const linear_backward& op) {
        for (float& g : op.weight_gradient->mutable_values<float>())
            g = lie_ * g + lie_;
    }

  private:
    float lie_;
};

const char* const rules_that_bear_loss[] = {"asp", "{ssp: {staleness: 1}}",
                                            "{value_bounded: {bound: 0.02}}", "{softsync: {}}",
                                            "{backup_workers: {backups: 1}}"};

} // namespace

BOOST_AUTO_TEST_SUITE(lost_and_lying_replicas_of_parameter_servers)

BOOST_AUTO_TEST_CASE(a_run_goes_on_without_a_replica_that_is_lost, *seeded) {
    for (const std::uint64_t seed : seed_range{60, 0}) {
        const std::string rule = rules_that_bear_loss[seed % 5];
        const bool is_pipeline = seed % 3 == 0 && (seed % 5 < 2 || seed % 5 == 3);
        check_loss(seed, is_pipeline, server(rule, 1), [](pipeline_sim& run) {
            run.sim().run_for(std::chrono::seconds{5});
            for (const char* gone : {"stage-0.0", "cache-0.0", "shard-0.0"})
                BOOST_TEST(!run.node(0).address_of(gone).has_value());
        });
    }
}

BOOST_AUTO_TEST_CASE(another_node_takes_the_place_of_a_lost_replica, *seeded) {
    for (const std::uint64_t seed : seed_range{60, 0}) {
        const std::uint64_t when = seed % 60;
        std::string text = text_of({.replicas = 3,
                                    .sync = server(rules_that_bear_loss[seed % 5], 1),
                                    .samples = 400,
                                    .optimizer = "sgd: {learning_rate: 0.02}"});
        if (seed % 2) // which does not make it free
            replace(text, "topology: {",
                    "topology: {devices: [{device: node-1/sim:0, slow_down: 2}], ");
        pipeline_sim run{
            {.seed = seed + 1, .faults = storm, .nodes = 3, .spare_nodes = 1, .app = text}};
        spawn_announcer(run);
        run.start({});
        run.sim().run_until([&] { return run.observer().progress.samples_done >= 100; },
                            std::chrono::minutes{5});
        kill(run, 2);
        announce(run, 3);
        if (when >= 20) { // it is lost, too, while it joins or later
            run.sim().run_until([&] { return run.observer().notes.size() == 2; },
                                std::chrono::minutes{5});
            run.sim().run_for(std::chrono::milliseconds{when - 20});
            kill(run, 3);
        }
        run_until_over(run);
        const run_report& report = good_report(run);
        if (when >= 20) {
            BOOST_TEST(report.epochs.size() == 2u);
            continue;
        }
        BOOST_REQUIRE(run.observer().notes.size() == 2u);
        BOOST_TEST(run.observer().notes[1] == "replica 2 joins anew on node-3/sim:0");
        BOOST_TEST(report.epochs.back().samples == 400u); // of the second epoch, with three again
        BOOST_TEST(std::ranges::none_of(report.stages, &stage_report::lost));
        BOOST_TEST(run.observer().epochs.size() == 2u);
    }
}

BOOST_AUTO_TEST_CASE(a_lost_shard_or_a_method_that_needs_all_ends_the_run) {
    for (const auto& [rule, shards] :
         {std::pair{"asp", 2u}, std::pair{"bsp", 1u}, std::pair{"{ssp: {staleness: 0}}", 1u}}) {
        pipeline_sim run{{.faults = calm,
                          .nodes = 2,
                          .app = text_of({.sync = server(rule, shards), .samples = 8000})}};
        run.start({});
        run.sim().run_until([&] { return run.observer().progress.samples_done >= 800; },
                            std::chrono::minutes{5});
        kill(run, 1);
        run_until_over(run);
        BOOST_TEST((failure_of(run).code() == errc::lost));
        BOOST_TEST(run.observer().notes.empty());
    }
}

// Two nodes of two replicas each: what is pushed is the sum of two, in another order of additions.
BOOST_AUTO_TEST_CASE(servers_of_nodes_sum_what_their_replicas_push, *seeded) {
    const auto run_on_nodes = [](const std::string& rule, std::uint64_t seed) {
        const temporary_folder folder;
        const std::string sync =
            "{parameter_server: {consistency: " + rule + ", node_servers: true, shards: 3}}";
        pipeline_sim run{{.seed = seed,
                          .faults = storm,
                          .nodes = 2,
                          .devices_of_node = 2,
                          .app = text_of({.replicas = 4,
                                          .sync = sync,
                                          .samples = 330,
                                          .batch = 4,
                                          .optimizer = "sgd: {learning_rate: 0.02}"})}};
        run.train(folder.path());
        const run_report& report = good_report(run);
        return trained{report, saved_in(folder.path())};
    };
    const auto alone = train(
        {.replicas = 1, .samples = 330, .batch = 16, .optimizer = "sgd: {learning_rate: 0.02}"});
    const auto summed = run_on_nodes("bsp", 1);
    BOOST_TEST(farthest(summed.weights, alone.weights) < 2e-6);
    for (const std::uint64_t seed : seed_range{8}) {
        const auto late = run_on_nodes(seed % 2 ? "asp" : "{ssp: {staleness: 1}}", seed);
        BOOST_TEST(lags_of(late.report).first == 2u * 83);
        BOOST_TEST(late.report.stages[0].weight_version < 2u * 83); // updates of two minibatches
        BOOST_TEST(late.report.epochs.back().test_loss < late.report.epochs.front().test_loss);
    }
}

// One of five replicas sends nonsense: only the mean makes it everybody's.
BOOST_AUTO_TEST_CASE(training_bears_a_lying_replica_but_for_the_mean) {
    memory_pool pool{1u << 28};
    const auto honest = make_cpu_operations(pool);
    const replicas_app honest_app{.replicas = 5,
                                  .sync = server("bsp", 1),
                                  .samples = 800,
                                  .optimizer = "sgd: {learning_rate: 0.1}"};
    const double good = *train(honest_app).report.epochs.back().test_accuracy;
    for (const char* how : {"mean", "median", "{trimmed_mean: {trim: 1}}", "{krum: {liars: 1}}"})
        for (const float lie : {-30.f, std::numeric_limits<float>::quiet_NaN()}) {
            lying_operations lying{*honest, lie};
            replicas_app app = honest_app;
            app.sync = server_with("bsp", "shards: 1, aggregation: " + std::string{how});
            const auto last_lies = [&](std::size_t device) -> operations& {
                return device == 4 ? static_cast<operations&>(lying) : *honest;
            };
            pipeline_sim run{
                {.faults = calm, .nodes = 5, .app = text_of(app), .operations_of = last_lies}};
            run.start({});
            run_until_over(run);
            const run_report& report = *run.observer().report;
            const bool learned =
                !report.failure && *report.epochs.back().test_accuracy > good - 0.05;
            BOOST_TEST(learned == (std::string{how} != "mean"),
                       how << ", " << lie << ": "
                           << (report.failure ? report.failure->message()
                                              : std::to_string(*report.epochs.back().test_accuracy))
                           << " where all are honest " << good);
        }
}

BOOST_AUTO_TEST_SUITE_END()

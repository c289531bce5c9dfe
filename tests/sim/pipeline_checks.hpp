// Runs that are compared with the sequential program, bit by bit.
#pragma once

#include "tests/sim/pipeline_sim.hpp"
#include "tests/support/saved_weights.hpp"

namespace troupe::test {

inline const std::vector<std::vector<std::size_t>> cuts = {
    {6}, {3, 3}, {1, 3, 2}, {1, 1, 2, 2}, {1, 1, 1, 1, 1, 1}};

inline constexpr sim_faults calm{.delay_min = std::chrono::microseconds{20},
                                 .delay_max = std::chrono::microseconds{20}};

// That a run of this app, with stages of so many layers, is bit-equal to the sequential program.
inline void check_app(const std::string& text, const std::vector<std::size_t>& layers,
                      const sim_faults& faults, std::uint64_t seed) {
    BOOST_TEST_CONTEXT("seed " << seed << " of\n" << text) {
        const bool delayed = text.find("schedule: pipedream") != std::string::npos;
        const temporary_folder folder;
        pipeline_sim run{{.seed = seed,
                          .faults = faults,
                          .nodes = layers.size(),
                          .app = text + "checkpoint: {directory: unused}\n"}};
        run.train(folder.path());
        BOOST_REQUIRE(run.observer().report.has_value());
        const run_report& report = *run.observer().report;
        BOOST_REQUIRE_MESSAGE(!report.failure, (report.failure ? report.failure->message() : ""));
        BOOST_TEST(report.epochs.size() == 3u);
        const auto app = parse_training(text, "app.yaml").value();
        check_weights(folder.path(), run.sequential(layers, delayed, delayed ? 1 : 3), layers,
                      app.app().getModel());
        // 70 samples in batches of 8: 9 minibatches an epoch; after the pipeline has filled the lag is S-1-s.
        for (std::size_t s = 0; s < layers.size(); ++s) {
            const std::size_t lag = delayed ? layers.size() - 1 - s : 0;
            const auto& lags = report.stages[s].lags;
            BOOST_REQUIRE(lags.size() == lag + 1);
            BOOST_TEST(lags[lag] == 3 * (9 - lag));
            for (std::size_t k = 0; k < lag; ++k)
                BOOST_TEST(lags[k] == 3u); // while it fills, once per lag and epoch
            BOOST_TEST(report.stages[s].weight_version == 27u);
        }
    }
}

// `more`: further keys of train.
inline void check_run(const std::string& schedule, const std::vector<std::size_t>& layers,
                      const sim_faults& faults, std::uint64_t seed,
                      const std::string& optimizer = default_optimizer,
                      const std::string& more = "") {
    check_app(pipeline_app(schedule, layers, 3, optimizer, more), layers, faults, seed);
}

// Three epochs under pipedream, stopped in the second, which has minibatches `first` to `end` of the run.
inline void stop_and_resume(const std::vector<std::size_t>& layers, const std::string& more,
                            std::uint64_t first, std::uint64_t end) {
    const temporary_folder folder;
    const std::string text = pipeline_app("pipedream", layers, 3, default_optimizer, more) +
                             "checkpoint: {directory: unused}\n";
    std::uint64_t stopped_at = 0;
    {
        pipeline_sim run{{.faults = calm, .nodes = layers.size(), .app = text}};
        run.start(folder.path());
        const training_progress& progress = run.observer().progress;
        run.sim().run_until([&] { return progress.epoch == 1 && progress.samples_done >= 16; },
                            std::chrono::minutes{5});
        run.run_node().send(run.trainer_address(), frame_builder<proto::StopRun>{});
        run.sim().run_until([&] { return run.observer().report.has_value(); },
                            std::chrono::minutes{5});
        BOOST_REQUIRE(run.observer().report.has_value());
        BOOST_TEST((run.observer().report->failure->code() == errc::cancelled));
        const auto infos = list_checkpoints(folder.path()).value();
        BOOST_REQUIRE(infos.size() == 1u);
        stopped_at = infos[0].progress.minibatches_done;
        BOOST_TEST(infos[0].progress.version.value() == stopped_at);
        BOOST_TEST(stopped_at > first); // in the second epoch
        BOOST_TEST(infos[0].progress.minibatches_of_epoch == stopped_at - first);
        BOOST_TEST(stopped_at < end);
    }
    pipeline_sim run{{.seed = 2, .faults = calm, .nodes = layers.size(), .app = text}};
    run.start(folder.path(), true);
    run.sim().run_until([&] { return run.observer().report.has_value(); }, std::chrono::minutes{5});
    BOOST_REQUIRE(run.observer().report.has_value());
    const run_report& report = *run.observer().report;
    BOOST_REQUIRE_MESSAGE(!report.failure, (report.failure ? report.failure->message() : ""));
    const auto app = parse_training(text, "app.yaml").value();
    check_weights(folder.path(), run.sequential(layers, true, 1, stopped_at), layers,
                  app.app().getModel());
}

} // namespace troupe::test

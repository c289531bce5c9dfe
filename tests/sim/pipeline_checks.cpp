#include "tests/sim/pipeline_checks.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/pipeline/shape/schedules.hpp"
#include "actors/pipeline/shape/stage_order.hpp"
#include "actors/training/plan/training_app.hpp"
#include "tests/support/saved_weights.hpp"

namespace troupe::test {

const std::vector<std::vector<std::size_t>>& cuts() {
    static const std::vector<std::vector<std::size_t>> all = {
        {6}, {3, 3}, {1, 3, 2}, {1, 1, 2, 2}, {1, 1, 1, 1, 1, 1}};
    return all;
}

const run_report& good_report(const pipeline_sim& run) {
    BOOST_REQUIRE(run.observer().report.has_value());
    const run_report& report = *run.observer().report;
    BOOST_REQUIRE_MESSAGE(!report.failure, (report.failure ? report.failure->message() : ""));
    return report;
}

const error& failure_of(const pipeline_sim& run) {
    BOOST_REQUIRE(run.observer().report.has_value());
    BOOST_REQUIRE(run.observer().report->failure.has_value());
    return *run.observer().report->failure;
}

void check_saved(pipeline_sim& run, const std::filesystem::path& folder,
                 const sequential_settings& as) {
    check_weights(folder, run.sequential(as), as.layers, run.app().app().getModel());
}

namespace {

// The name behind "schedule: " in an app's text.
std::string schedule_of(const std::string& text) {
    const std::string key = "schedule: ";
    const std::size_t first = text.rfind(key) + key.size(); // train may have another one
    return text.substr(first, text.find_first_of(",}", first) - first);
}

} // namespace

std::size_t devices_of(const std::string& schedule, std::size_t stages) {
    const auto row = std::ranges::find(schedule_rows(), schedule, &schedule_row::name);
    return stages % row->stages_per_device == 0 ? stages / row->stages_per_device : 0;
}

sequential_settings as_scheduled(const std::string& schedule,
                                 const std::vector<std::size_t>& layers) {
    const std::uint32_t microbatches = schedule == "pipedream" ? 1 : 3;
    const auto stages = static_cast<std::uint32_t>(layers.size());
    const schedule_table table =
        make_table(schedule, {.devices = static_cast<std::uint32_t>(devices_of(schedule, stages)),
                              .microbatches = microbatches})
            .value();
    sequential_settings as{.layers = layers,
                           .delayed = looks_back(table),
                           .microbatches = microbatches,
                           .stashes = table.stashes_weights};
    for (std::uint32_t s = 0; s < stages; ++s) {
        const device_steps steps = steps_of(table, s);
        as.behind.push_back(updates_behind(steps));
        auto& order = as.summed.emplace_back();
        for (const schedule_step& step : steps.body)
            if (ends_microbatch(step.kind))
                order.push_back(step.microbatch);
    }
    return as;
}

void check_app(const std::string& text, const std::vector<std::size_t>& layers,
               const sim_faults& faults, std::uint64_t seed) {
    BOOST_TEST_CONTEXT("seed " << seed << " of\n" << text) {
        const std::string schedule = schedule_of(text);
        const temporary_folder folder;
        pipeline_sim run{{.seed = seed,
                          .faults = faults,
                          .nodes = devices_of(schedule, layers.size()),
                          .app = text + "checkpoint: {directory: unused}\n"}};
        run.train(folder.path());
        const run_report& report = good_report(run);
        BOOST_TEST(report.epochs.size() == 3u);
        const sequential_settings as = as_scheduled(schedule, layers);
        check_saved(run, folder.path(), as);
        // 70 samples in batches of 8: 9 minibatches an epoch; a lag is that of the oldest weights of a minibatch.
        for (std::size_t s = 0; s < layers.size(); ++s) {
            const std::size_t lag = std::ranges::max(as.behind[s]);
            const auto& lags = report.stages[s].lags;
            BOOST_REQUIRE(lags.size() == lag + 1);
            BOOST_TEST(lags[lag] == 3 * (9 - lag));
            for (std::size_t k = 0; k < lag; ++k)
                BOOST_TEST(lags[k] == 3u); // while it fills, once per lag and epoch
            BOOST_TEST(report.stages[s].weight_version == 27u);
        }
    }
}

void check_run(const std::string& schedule, const std::vector<std::size_t>& layers,
               const sim_faults& faults, std::uint64_t seed, const std::string& optimizer,
               const std::string& more) {
    check_app(pipeline_app(schedule, layers, 3, optimizer, more), layers, faults, seed);
}

void stop_and_resume(const std::vector<std::size_t>& layers, const std::string& more,
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
        run.run_to_the_end();
        BOOST_TEST((failure_of(run).code() == errc::cancelled));
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
    run.run_to_the_end();
    good_report(run);
    check_saved(run, folder.path(),
                {.layers = layers, .delayed = true, .drained_after = stopped_at});
}

} // namespace troupe::test

// What stages report of an epoch, and where their reports cannot be.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <limits>

#include "actors/training/epoch_tally.hpp"
#include "actors/training/plan/planned_rate.hpp"
#include "actors/training/plan/training_app.hpp"
#include "tests/support/pipeline_app.hpp"
#include "transport/frame/frame.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

namespace {

constexpr time_point began{1'000'000'000};

// Two stages, of which the second is the first one with parameters.
epoch_tally tally_of_two(bool classifies = true) {
    return epoch_tally{{.epoch = 3,
                        .samples = 20,
                        .stages = 2,
                        .leader = 1,
                        .classifies = classifies,
                        .rates = {0.5f, 0.25f},
                        .version = weight_version{7},
                        .began = began}};
}

result<void> count(epoch_tally& tally, double loss, time_point now = began) {
    frame_builder<proto::MinibatchDone> done;
    done.body().setSamples(5);
    done.body().setLossSum(loss);
    done.body().setCorrect(2);
    done.body().setCounted(4);
    return tally.count(done.body(), now);
}

result<void> end_stage(epoch_tally& tally, std::uint32_t stage, std::uint64_t version,
                       std::uint64_t minibatches = 4, time_point now = began) {
    frame_builder<proto::StageEpochDone> done;
    done.body().setStage(stage);
    done.body().setWeightVersion(version);
    done.body().setMinibatches(minibatches);
    return tally.end_stage(done.body(), now);
}

result<epoch_report> evaluate(const epoch_tally& tally, std::uint64_t samples, double loss) {
    frame_builder<proto::EvaluationDone> done;
    done.body().setSamples(samples);
    done.body().setLossSum(loss);
    done.body().setCorrect(6);
    done.body().setCounted(8);
    return tally.evaluate(done.body(), 10);
}

} // namespace

BOOST_AUTO_TEST_SUITE(epoch_tallies)

BOOST_AUTO_TEST_CASE(minibatches_add_up_to_progress) {
    epoch_tally tally = tally_of_two();
    BOOST_TEST(count(tally, 1.5).ok());
    BOOST_TEST(count(tally, 2.5, began + 2s).ok());
    const training_progress& progress = tally.progress();
    BOOST_TEST(progress.epoch == 3u);
    BOOST_TEST(progress.samples == 20u);
    BOOST_TEST(progress.samples_done == 10u);
    BOOST_TEST(progress.counted == 8u);
    BOOST_TEST(progress.loss_sum == 4.0);
    BOOST_TEST(progress.correct.value() == 4u);
    BOOST_TEST((progress.elapsed == 2s));
}

BOOST_AUTO_TEST_CASE(an_epoch_tells_the_learning_rates_of_its_first_and_last_minibatch) {
    const auto rates = [](const std::string& schedule, std::uint32_t epoch) {
        const auto app = parse_training(pipeline_app("gpipe", {6}, 2), "app.yaml",
                                        {"train.schedule=" + schedule})
                             .value();
        const auto run = run_shape::of(app.app().getTrain(), 24); // three minibatches an epoch
        epoch_report report;
        report.rates = rates_of(app.app(), run, epoch);
        std::string text;
        for (const named_number& n : news_of(report).numbers)
            if (n.name.starts_with("learning_rate"))
                text += (text.empty() ? "" : ", ") + n.name + " " +
                        digits_of(static_cast<float>(n.value));
        return text;
    };
    BOOST_TEST(rates("constant", 1) == "learning_rate 0.05");
    BOOST_TEST(rates("{polynomial: {}}", 0) == "learning_rate 0.05, learning_rate_at_end 0.03");
    BOOST_TEST(rates("{polynomial: {}}", 1) == "learning_rate 0.02, learning_rate_at_end 0");
    BOOST_TEST(rates("{step: {every_epochs: 1}}", 1) == "learning_rate 0.005");
}

BOOST_AUTO_TEST_CASE(numbers_as_labels_are_never_right) {
    epoch_tally tally = tally_of_two(false);
    BOOST_TEST(count(tally, 1).ok());
    BOOST_TEST(!tally.progress().correct.has_value());
    BOOST_TEST(!evaluate(tally, 10, 1)->test_accuracy.has_value());
}

BOOST_AUTO_TEST_CASE(the_version_of_the_run_is_that_of_the_first_stage_with_parameters) {
    epoch_tally tally = tally_of_two();
    BOOST_TEST(tally.version() == weight_version{7});
    BOOST_TEST(end_stage(tally, 0, 9).ok());
    BOOST_TEST(tally.version() == weight_version{7});
    BOOST_TEST(end_stage(tally, 1, 11).ok());
    BOOST_TEST(tally.version() == weight_version{11});
    BOOST_TEST(tally.version_of(0).value() == weight_version{9});
}

BOOST_AUTO_TEST_CASE(replicas_of_a_stage_end_with_the_same_version) {
    epoch_tally tally = tally_of_two();
    BOOST_TEST(end_stage(tally, 0, 9).ok());
    BOOST_TEST(end_stage(tally, 0, 9).ok());
    BOOST_TEST((end_stage(tally, 0, 8).failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_CASE(stages_agree_on_the_minibatches_of_the_epoch) {
    epoch_tally tally = tally_of_two();
    BOOST_TEST(!tally.minibatches().has_value());
    BOOST_TEST(end_stage(tally, 0, 9, 4).ok());
    BOOST_TEST(tally.minibatches().value() == 4u);
    BOOST_TEST((end_stage(tally, 1, 9, 5).failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_CASE(an_epoch_lasts_until_the_latest_report_of_a_stage) {
    epoch_tally tally = tally_of_two();
    BOOST_TEST(count(tally, 2).ok());
    BOOST_TEST(end_stage(tally, 0, 9, 4, began + 1s).ok());
    BOOST_TEST(end_stage(tally, 1, 9, 4, began + 2s).ok());
    const auto report = evaluate(tally, 10, 4);
    BOOST_TEST(report->epoch == 3u);
    BOOST_TEST(report->samples == 5u);
    BOOST_TEST(report->train_loss == 0.5);
    BOOST_TEST(report->test_loss == 0.5);
    BOOST_TEST(report->test_accuracy.value() == 0.75);
    BOOST_TEST(report->seconds == 2.0);
    BOOST_TEST(report->samples_per_second == 2.5);
}

BOOST_AUTO_TEST_CASE(losses_that_are_no_numbers_and_missing_samples_are_refused) {
    constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
    epoch_tally tally = tally_of_two();
    BOOST_TEST((count(tally, no_number).failure().code() == errc::protocol));
    BOOST_TEST(tally.progress().samples_done == 0u);
    BOOST_TEST((evaluate(tally, 10, no_number).failure().code() == errc::protocol));
    BOOST_TEST((evaluate(tally, 9, 1).failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_SUITE_END()

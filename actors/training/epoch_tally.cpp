#include "actors/training/epoch_tally.hpp"

#include <chrono>
#include <cmath>

namespace troupe {

namespace {

double mean(double sum, std::uint64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : 0;
}

} // namespace

epoch_tally::epoch_tally(const epoch_start& start) : start_{start}, versions_(start.stages) {
    progress_.epoch = start.epoch;
    progress_.samples = start.samples;
}

result<void> epoch_tally::count(proto::MinibatchDone::Reader body, time_point now) {
    if (!std::isfinite(body.getLossSum()))
        return error{errc::protocol, "the last stage reports a loss that is not a number"};
    progress_.samples_done += body.getSamples();
    progress_.loss_sum += body.getLossSum();
    progress_.counted += body.getCounted();
    if (start_.classifies)
        progress_.correct = progress_.correct.value_or(0) + body.getCorrect();
    progress_.elapsed = now - start_.began;
    return {};
}

result<void> epoch_tally::end_stage(proto::StageEpochDone::Reader body, time_point now) {
    const weight_version reported{body.getWeightVersion()};
    std::optional<weight_version>& version = versions_[body.getStage()];
    if (minibatches_.value_or(body.getMinibatches()) != body.getMinibatches() ||
        version.value_or(reported) != reported)
        return error{errc::protocol, "the stages do not agree on how far the epoch went"};
    minibatches_ = body.getMinibatches();
    version = reported;
    if (body.getStage() == start_.leader)
        start_.version = reported;
    ended_ = now;
    return {};
}

result<epoch_report> epoch_tally::evaluate(proto::EvaluationDone::Reader body,
                                           std::uint64_t samples) const {
    if (body.getSamples() != samples)
        return error{errc::protocol, "the evaluation has not seen the whole test set"};
    if (!std::isfinite(body.getLossSum()))
        return error{errc::protocol, "the last stage reports a test loss that is not a number"};
    const double seconds = std::chrono::duration<double>(ended_ - start_.began).count();
    epoch_report report;
    report.epoch = start_.epoch;
    report.samples = progress_.samples_done;
    report.train_loss = mean(progress_.loss_sum, progress_.counted);
    report.test_loss = mean(body.getLossSum(), body.getCounted());
    if (start_.classifies)
        report.test_accuracy = mean(static_cast<double>(body.getCorrect()), body.getCounted());
    report.seconds = seconds;
    report.rates = start_.rates;
    report.samples_per_second =
        seconds > 0 ? static_cast<double>(progress_.samples_done) / seconds : 0;
    return report;
}

} // namespace troupe

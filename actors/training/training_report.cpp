#include "actors/training/training_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "actors/pipeline/shape/replica_sync.hpp"
#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/plan_json.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

json histogram(const std::vector<std::uint64_t>& lags) {
    json h = json::object();
    for (std::size_t lag = 0; lag < lags.size(); ++lag)
        if (lags[lag] != 0)
            h[std::to_string(lag)] = lags[lag];
    return h;
}

// "4 by 0, 3748 by 1", "none of 18".
std::string lags_in_words(const std::vector<std::uint64_t>& lags) {
    if (lags.size() == 1 && lags[0] > 0)
        return "none of " + std::to_string(lags[0]);
    std::string words;
    for (std::size_t lag = 0; lag < lags.size(); ++lag)
        if (lags[lag] != 0)
            words += (words.empty() ? "" : ", ") + std::to_string(lags[lag]) + " by " +
                     std::to_string(lag);
    return words.empty() ? "none trained" : words;
}

template <class... Args>
std::string text(const char* format, Args... args) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, args...);
    return buffer;
}

json memory_of(const stage_report& stage) {
    json memory = {{"peak_bytes", stage.memory_peak_bytes},
                   {"reserved_bytes", stage.memory_reserved_bytes},
                   {"system_allocations", stage.system_allocations}};
    if (stage.system_allocations_of_last_epoch)
        memory["system_allocations_of_last_epoch"] = *stage.system_allocations_of_last_epoch;
    return memory;
}

// "memory 12.3 MB at most, taken from the system 312 times, 0 in the last epoch".
std::string memory_in_words(const stage_report& stage) {
    std::string words = text("memory %.1f MB at most, taken from the system ",
                             static_cast<double>(stage.memory_peak_bytes) / 1e6) +
                        counted(stage.system_allocations, "time");
    if (stage.system_allocations_of_last_epoch)
        words +=
            ", " + std::to_string(*stage.system_allocations_of_last_epoch) + " in the last epoch";
    return words;
}

// Bytes that are not UTF-8, which names of files may contain, are replaced.
std::string text_of(const json& object) {
    return object.dump();
}

std::uint32_t nodes_of(const plan& p) {
    std::set<std::string> names;
    for (const planned_stage& s : p.stages)
        for (const plan_device& d : s.where)
            names.insert(d.node_name);
    return static_cast<std::uint32_t>(names.size());
}

std::string line_of(const stage_report& s, bool is_replicated) {
    const std::string stage =
        "stage " + std::to_string(s.stage) +
        (is_replicated ? " of replica " + std::to_string(s.replica) : std::string{});
    if (s.lost)
        return stage + ": lost";
    return stage +
           text(": busy %.0f%%, minibatches late in weight versions: ", 100 * s.busy_share) +
           lags_in_words(s.lags) +
           (s.dropped > 0 ? ", dropped as too late: " + std::to_string(s.dropped) : std::string{}) +
           "; " + memory_in_words(s);
}

json json_of(const stage_report& s) {
    return {{"stage", s.stage},
            {"replica", s.replica},
            {"lost", s.lost},
            {"weight_version", s.weight_version},
            {"busy_share", s.busy_share},
            {"weight_version_lag", histogram(s.lags)},
            {"dropped", s.dropped},
            {"memory", memory_of(s)}};
}

std::vector<named_number> numbers_of(const epoch_report& r) {
    std::vector<named_number> numbers{{"train_loss", r.train_loss}, {"test_loss", r.test_loss}};
    if (r.test_accuracy)
        numbers.push_back({"test_accuracy", *r.test_accuracy, proto::NumberStyle::SHARE});
    numbers.push_back({"samples_per_second", r.samples_per_second, proto::NumberStyle::RATE});
    numbers.push_back({"seconds", r.seconds, proto::NumberStyle::SECONDS});
    numbers.push_back({"learning_rate", decimal_of(r.rates.first), proto::NumberStyle::PRECISE});
    if (r.rates.last != r.rates.first)
        numbers.push_back(
            {"learning_rate_at_end", decimal_of(r.rates.last), proto::NumberStyle::PRECISE});
    return numbers;
}

// A training loss below this value is printed as 0.
constexpr double no_loss = 5e-5;

std::vector<std::string> doubts_of(const run_report& report, std::size_t classes) {
    if (report.failure || report.epochs.empty())
        return {};
    const epoch_report& first = report.epochs.front();
    const epoch_report& last = report.epochs.back();
    const double guess = std::log(static_cast<double>(classes));
    std::string doubt;
    if (classes > 1 && std::min(last.train_loss, last.test_loss) >= guess)
        doubt = text("the loss ends at %.4f, no better than a guess among %zu classes (%.4f)",
                     last.test_loss, classes, guess);
    else if (report.epochs.size() > 1 && last.train_loss >= first.train_loss &&
             last.train_loss >= no_loss)
        doubt = text("the training loss has not fallen: %.4f in epoch %u, %.4f in epoch %u",
                     first.train_loss, first.epoch + 1, last.train_loss, last.epoch + 1);
    else
        return {};
    return {doubt +
            "; try another learning_rate (train.optimizer), most often a lower one, or more "
            "epochs"};
}

} // namespace

epoch_rates rates_of(proto::App::Reader app, const run_shape& run, std::uint32_t epoch) {
    const learning_rates rates =
        make_learning_rates(app.getTrain(), run.samples, replicas_in_turn(app.getTopology()));
    return {rates(run.minibatches_before(epoch)), rates(run.minibatches_before(epoch + 1) - 1)};
}

void add_epoch(stage_report& to, proto::StageEpochDone::Reader epoch, bool is_first) {
    if (to.lags.size() < epoch.getLags().size())
        to.lags.resize(epoch.getLags().size());
    for (unsigned k = 0; k < epoch.getLags().size(); ++k)
        to.lags[k] += epoch.getLags()[k];
    to.dropped += epoch.getDropped();
    to.busy_share = epoch.getEpochNs() > 0 ? static_cast<double>(epoch.getBusyNs()) /
                                                 static_cast<double>(epoch.getEpochNs())
                                           : 0;
    to.weight_version = epoch.getWeightVersion();
    const auto memory = epoch.getMemory();
    if (!is_first)
        to.system_allocations_of_last_epoch = memory.getSystemAllocations() - to.system_allocations;
    to.memory_peak_bytes = memory.getBytesInUsePeak();
    to.memory_reserved_bytes = memory.getBytesReserved();
    to.system_allocations = memory.getSystemAllocations();
}

run_started news_of(const plan& p, std::uint32_t epochs,
                    const std::optional<std::string>& resumed_from, bool of_cluster) {
    return {.nodes = nodes_of(p),
            .milestone = "epoch",
            .milestones = epochs,
            .plan = describe(p),
            .plan_json = text_of(to_json(p)),
            .notes = notes_of(p, of_cluster),
            .resumed_from = resumed_from.value_or("")};
}

run_progress news_of(const training_progress& progress) {
    const double counted = static_cast<double>(std::max<std::uint64_t>(progress.counted, 1));
    run_progress news{.milestone = progress.epoch,
                      .done = progress.samples_done,
                      .pieces = progress.samples,
                      .piece = "samples",
                      .elapsed = progress.elapsed,
                      .numbers = {{"loss", progress.loss_sum / counted}}};
    if (progress.correct)
        news.numbers.push_back({"accuracy", static_cast<double>(*progress.correct) / counted,
                                proto::NumberStyle::SHARE});
    return news;
}

run_milestone news_of(const epoch_report& report) {
    return {report.epoch, numbers_of(report)};
}

run_finished news_of(const run_report& report, std::size_t classes) {
    run_finished news{.failure = report.failure,
                      .saved = report.checkpoint.value_or(""),
                      .doubts = doubts_of(report, classes)};
    if (!report.epochs.empty()) {
        news.milestones = report.epochs.back().epoch + 1;
        news.numbers = numbers_of(report.epochs.back());
    }
    std::set<std::uint32_t> lost;
    for (const stage_report& s : report.stages)
        if (s.lost)
            lost.insert(s.replica);
    if (!lost.empty())
        news.remarks.push_back(counted(lost.size(), "replica") + " lost on the way");
    const bool is_replicated = !report.stages.empty() && report.stages.back().replica > 0;
    json stages = json::array();
    for (const stage_report& s : report.stages) {
        news.actors.push_back(line_of(s, is_replicated));
        stages.push_back(json_of(s));
    }
    news.json = text_of({{"stages", std::move(stages)}});
    return news;
}

} // namespace troupe

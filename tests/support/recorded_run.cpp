#include "tests/support/recorded_run.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe::test {

namespace {

epoch_report epoch_of(const run_milestone& news, std::uint64_t samples) {
    epoch_report epoch{.epoch = news.milestone, .samples = samples};
    for (const named_number& n : news.numbers)
        if (n.name == "train_loss")
            epoch.train_loss = n.value;
        else if (n.name == "test_loss")
            epoch.test_loss = n.value;
        else if (n.name == "test_accuracy")
            epoch.test_accuracy = n.value;
    return epoch;
}

stage_report stage_of(const nlohmann::json& from) {
    stage_report stage{.replica = from.at("replica"),
                       .stage = from.at("stage"),
                       .dropped = from.at("dropped"),
                       .lost = from.at("lost"),
                       .busy_share = from.at("busy_share"),
                       .weight_version = from.at("weight_version")};
    for (const auto& [lag, times] : from.at("weight_version_lag").items()) {
        const std::size_t at = std::stoul(lag);
        stage.lags.resize(std::max(stage.lags.size(), at + 1));
        stage.lags[at] = times;
    }
    return stage;
}

} // namespace

void recorded_run::started(const run_started& news) {
    const auto plan = nlohmann::json::parse(news.plan_json);
    for (const auto& stage : plan.at("stages"))
        planned_layers.push_back(stage.at("layers"));
}
void recorded_run::progressed(const run_progress& news) {
    progress.epoch = news.milestone;
    progress.samples_done = news.done;
    progress.samples = news.pieces;
}
void recorded_run::reached(const run_milestone& news) {
    epochs.push_back(epoch_of(news, progress.samples_done));
}
void recorded_run::noted(const run_note& news) {
    notes.push_back(news.sentence);
}
void recorded_run::finished(const run_finished& news) {
    run_report ended{.epochs = epochs, .failure = news.failure};
    if (!news.saved.empty())
        ended.checkpoint = news.saved;
    const auto figures = nlohmann::json::parse(news.json);
    for (const auto& stage : figures.at("stages"))
        ended.stages.push_back(stage_of(stage));
    report = std::move(ended);
}

} // namespace troupe::test

// The news of a training run, kept as figures.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "actors/training/training_report.hpp"

namespace troupe::test {

class recorded_run final : public run_listener {
  public:
    void started(const run_started& news) override {
        planned = nlohmann::json::parse(news.plan_json);
    }
    void progressed(const run_progress& news) override {
        progress.epoch = news.milestone;
        progress.samples_done = news.done;
        progress.samples = news.pieces;
    }
    void reached(const run_milestone& news) override { epochs.push_back(epoch_of(news)); }
    void noted(const run_note& news) override { notes.push_back(news.sentence); }
    void finished(const run_finished& news) override {
        run_report ended{.epochs = epochs, .failure = news.failure};
        if (!news.saved.empty())
            ended.checkpoint = news.saved;
        const auto figures = nlohmann::json::parse(news.json);
        for (const auto& stage : figures.at("stages"))
            ended.stages.push_back(stage_of(stage));
        report = std::move(ended);
    }

    std::optional<nlohmann::json> planned;
    training_progress progress; // the latest; without its sums
    std::vector<epoch_report> epochs;
    std::vector<std::string> notes;
    std::optional<run_report> report;

  private:
    epoch_report epoch_of(const run_milestone& news) const {
        epoch_report epoch{.epoch = news.milestone, .samples = progress.samples_done};
        for (const named_number& n : news.numbers)
            if (n.name == "train_loss")
                epoch.train_loss = n.value;
            else if (n.name == "test_loss")
                epoch.test_loss = n.value;
            else if (n.name == "test_accuracy")
                epoch.test_accuracy = n.value;
        return epoch;
    }

    static stage_report stage_of(const nlohmann::json& from) {
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
};

} // namespace troupe::test

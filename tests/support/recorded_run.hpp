// The news of a training run, kept as figures.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "actors/training/training_report.hpp"

namespace troupe::test {

class recorded_run final : public run_listener {
  public:
    void started(const run_started& news) override;
    void progressed(const run_progress& news) override;
    void reached(const run_milestone& news) override;
    void noted(const run_note& news) override;
    void finished(const run_finished& news) override;

    std::vector<std::size_t> planned_layers; // numbers of the stages
    training_progress progress;              // the latest; without its sums
    std::vector<epoch_report> epochs;
    std::vector<std::string> notes;
    std::optional<run_report> report;
};

} // namespace troupe::test

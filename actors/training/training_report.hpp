// The figures of a training run, and the news (actors/run/run_events.hpp) that a trainer makes of them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/run/run_events.hpp"
#include "kernels/optim/run_shape.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/time_source.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

struct plan;

struct training_progress {
    std::uint32_t epoch = 0;
    std::uint64_t samples_done = 0; // so far in this epoch
    std::uint64_t samples = 0;      // in this epoch
    std::uint64_t counted = 0;      // labels of samples_done that count in the loss
    double loss_sum = 0;            // sum over the counted labels
    // Right outputs among the counted labels; none where labels are numbers.
    std::optional<std::uint64_t> correct;
    duration elapsed{}; // since the epoch began
};

// The learning rates (train.optimizer) of an epoch's first and last minibatch.
struct epoch_rates {
    float first = 0;
    float last = 0;
};

struct epoch_report {
    std::uint32_t epoch = 0; // counts from 0
    std::uint64_t samples = 0;
    double train_loss = 0; // means over labels
    double test_loss = 0;
    std::optional<double> test_accuracy; // 0..1; none where labels are numbers
    double samples_per_second = 0;
    double seconds = 0; // time of training, without evaluation
    epoch_rates rates;
};

struct stage_report {
    std::uint32_t replica = 0;
    std::uint32_t stage = 0;
    // lags[k]: number of minibatches of the whole run whose update came k versions late.
    std::vector<std::uint64_t> lags;
    std::uint64_t dropped = 0; // gradients that a parameter server has dropped
    bool lost = false;         // the stage was lost with its replica, and the run went on
    double busy_share = 0;     // share of the last epoch's time in which the device worked
    // Figures of the device since the start of its node; they include other stages on the device.
    std::uint64_t memory_peak_bytes = 0;     // memory in use
    std::uint64_t memory_reserved_bytes = 0; // memory taken from the system
    std::uint64_t system_allocations = 0; // number of times that memory was taken from the system
    // The number of these times in the last epoch; none if that is the first.
    std::optional<std::uint64_t> system_allocations_of_last_epoch;
    std::uint64_t weight_version = 0;
};

struct run_report {
    std::vector<epoch_report> epochs;
    std::vector<stage_report> stages; // stages of all replicas, beginning with the first replica
    std::optional<std::string> checkpoint; // folder of the last checkpoint saved or resumed from
    std::optional<error> failure;          // errc::cancelled after a stop
};

epoch_rates rates_of(proto::App::Reader app, const run_shape& run, std::uint32_t epoch);

// Adds what a stage reports of an epoch. `is_first`: of this run.
void add_epoch(stage_report& to, proto::StageEpochDone::Reader epoch, bool is_first);

// News of the start. `epochs`: number in the whole run. `of_cluster`: as for notes_of (actors/training/plan/plan.hpp).
run_started news_of(const plan& p, std::uint32_t epochs,
                    const std::optional<std::string>& resumed_from, bool of_cluster);
run_progress news_of(const training_progress& progress);
run_milestone news_of(const epoch_report& report);
// `classes`: number of classes of the data; 0 where labels are numbers.
run_finished news_of(const run_report& report, std::size_t classes);

} // namespace troupe

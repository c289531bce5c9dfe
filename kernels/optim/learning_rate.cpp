#include "kernels/optim/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/optim/optimizer.hpp"
#include "kernels/optim/run_shape.hpp"

namespace troupe {

namespace {

using share = std::function<double(std::uint64_t minibatch)>; // of the optimizer's rate

// How far a run is after its warm-up: 0 with its first minibatch, 1 with its last, and 0 where that is the same.
class progress {
  public:
    progress(std::uint64_t first, std::uint64_t minibatches)
        : first_{first}, way_{minibatches > first ? minibatches - 1 - first : 0} {}

    double at(std::uint64_t minibatch) const {
        const std::uint64_t gone = std::min(minibatch - first_, way_);
        return way_ > 0 ? static_cast<double>(gone) / static_cast<double>(way_) : 0;
    }

  private:
    std::uint64_t first_, way_;
};

// Epochs differ in length where minibatches grow: a step comes as far in its epoch as the warm-up's end is in its own.
share step_share(proto::StepSchedule::Reader s, std::uint64_t first, const run_shape& run) {
    const std::uint32_t from = run.epoch_of(first);
    const auto to_come = [=, part = first - run.minibatches_before(from),
                          whole = run.minibatches_of(from)](std::uint64_t minibatch,
                                                            std::uint32_t epoch) {
        const std::uint64_t of_epoch = minibatch - run.minibatches_before(epoch);
        return of_epoch * whole >= part * run.minibatches_of(epoch) ? 0u : 1u;
    };
    return [=, every = std::max<std::uint32_t>(s.getEveryEpochs(), 1),
            factor = double{s.getFactor()}](std::uint64_t minibatch) {
        const std::uint32_t epoch = run.epoch_of(minibatch);
        const std::uint32_t passed = epoch - from - to_come(minibatch, epoch);
        return std::pow(factor, passed / every);
    };
}

share cosine_share(proto::CosineSchedule::Reader s, progress done) {
    return [done, floor = double{s.getFinalFactor()}](std::uint64_t minibatch) {
        return floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * done.at(minibatch)));
    };
}

share polynomial_share(proto::PolynomialSchedule::Reader s, progress done) {
    return [done, power = double{s.getPower()},
            floor = double{s.getFinalFactor()}](std::uint64_t minibatch) {
        return floor + (1 - floor) * std::pow(1 - done.at(minibatch), power);
    };
}

// For minibatches from `first` on, which is the first after the warm-up.
share make_share(proto::LearningRateSchedule::Reader schedule, std::uint64_t first,
                 const run_shape& run) {
    switch (schedule.which()) {
    case proto::LearningRateSchedule::CONSTANT:
        return [](std::uint64_t) { return 1.0; };
    case proto::LearningRateSchedule::STEP:
        return step_share(schedule.getStep(), first, run);
    case proto::LearningRateSchedule::COSINE:
        return cosine_share(schedule.getCosine(), {first, run.minibatches()});
    case proto::LearningRateSchedule::POLYNOMIAL:
        return polynomial_share(schedule.getPolynomial(), {first, run.minibatches()});
    }
    return nullptr;
}

} // namespace

learning_rates make_learning_rates(proto::Train::Reader train, std::uint64_t samples,
                                   std::uint32_t in_turn) {
    const run_shape run = run_shape::of(train, samples);
    const run_shape rounds = run.in_rounds_of(in_turn);
    const std::uint64_t warmup =
        (std::uint64_t{train.getWarmupMinibatches()} + in_turn - 1) / in_turn;
    share left = make_share(train.getSchedule(), warmup, rounds);
    if (left == nullptr)
        return nullptr;
    const auto of_round = [rate = double{base_learning_rate(train.getOptimizer())}, warmup,
                           left = std::move(left)](std::uint64_t round) {
        const double of_it = round < warmup
                                 ? static_cast<double>(round + 1) / static_cast<double>(warmup)
                                 : left(round);
        return static_cast<float>(rate * of_it);
    };
    if (in_turn == 1)
        return of_round;
    return [=](std::uint64_t minibatch) {
        const std::uint32_t epoch = run.epoch_of(minibatch);
        return of_round(rounds.minibatches_before(epoch) +
                        (minibatch - run.minibatches_before(epoch)) / in_turn);
    };
}

learning_rates times(learning_rates rates, float factor) {
    return [rates = std::move(rates), factor](std::uint64_t minibatch) {
        return factor * rates(minibatch);
    };
}

} // namespace troupe

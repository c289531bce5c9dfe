#include "kernels/optim/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/optim/optimizer.hpp"

namespace troupe {

namespace {

using share = std::function<double(const run_position&)>; // of the optimizer's rate

share step_share(proto::StepSchedule::Reader s) {
    return [every = std::max<std::uint32_t>(s.getEveryEpochs(), 1), factor = double{s.getFactor()}](
               const run_position& at) { return std::pow(factor, at.epoch / every); };
}

share cosine_share(proto::CosineSchedule::Reader s, std::uint32_t epochs) {
    return [last = std::max<std::uint32_t>(epochs, 2) - 1.0,
            floor = double{s.getFinalFactor()}](const run_position& at) {
        const double progress = std::min(at.epoch / last, 1.0);
        return floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
    };
}

// From minibatch `first` to the end of the run.
share polynomial_share(proto::PolynomialSchedule::Reader s, std::uint64_t first,
                       std::uint64_t minibatches) {
    const auto way = static_cast<double>(minibatches - std::min(first, minibatches));
    return [first, way, power = double{s.getPower()},
            floor = double{s.getFinalFactor()}](const run_position& at) {
        if (at.minibatch <= first)
            return 1.0;
        const double left = std::max(1 - static_cast<double>(at.minibatch - first) / way, 0.0);
        return floor + (1 - floor) * std::pow(left, power);
    };
}

share make_share(proto::Train::Reader train, std::uint64_t minibatches) {
    const auto schedule = train.getSchedule();
    switch (schedule.which()) {
    case proto::LearningRateSchedule::CONSTANT:
        return [](const run_position&) { return 1.0; };
    case proto::LearningRateSchedule::STEP:
        return step_share(schedule.getStep());
    case proto::LearningRateSchedule::COSINE:
        return cosine_share(schedule.getCosine(), train.getEpochs());
    case proto::LearningRateSchedule::POLYNOMIAL:
        return polynomial_share(schedule.getPolynomial(), train.getWarmupMinibatches(),
                                minibatches);
    }
    return nullptr;
}

} // namespace

learning_rates make_learning_rates(proto::Train::Reader train, std::uint64_t minibatches) {
    share left = make_share(train, minibatches);
    if (left == nullptr)
        return nullptr;
    return [rate = double{base_learning_rate(train.getOptimizer())},
            warmup = static_cast<double>(train.getWarmupMinibatches()),
            left = std::move(left)](const run_position& at) {
        const double done = static_cast<double>(at.minibatch) + 1;
        return static_cast<float>(rate * left(at) * (done < warmup ? done / warmup : 1.0));
    };
}

learning_rates times(learning_rates rates, float factor) {
    return
        [rates = std::move(rates), factor](const run_position& at) { return factor * rates(at); };
}

} // namespace troupe

#include <cmath>
#include <numbers>

#include "kernels/optim/optimizer.hpp"

namespace troupe {

float learning_rate_at(proto::Train::Reader train, std::uint32_t epoch) {
    const double rate = double{base_learning_rate(train.getOptimizer())};
    const auto schedule = train.getSchedule();
    switch (schedule.which()) {
    case proto::LearningRateSchedule::CONSTANT:
        break;
    case proto::LearningRateSchedule::STEP: {
        const auto step = schedule.getStep();
        const std::uint32_t steps = epoch / std::max<std::uint32_t>(step.getEveryEpochs(), 1);
        return static_cast<float>(rate * std::pow(static_cast<double>(step.getFactor()), steps));
    }
    case proto::LearningRateSchedule::COSINE: {
        const double last = std::max<std::uint32_t>(train.getEpochs(), 2) - 1;
        const double progress = std::min(epoch / last, 1.0);
        const double floor = schedule.getCosine().getFinalFactor();
        const double factor =
            floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
        return static_cast<float>(rate * factor);
    }
    }
    return static_cast<float>(rate);
}

} // namespace troupe

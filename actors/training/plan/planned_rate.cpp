#include "actors/training/plan/planned_rate.hpp"

#include <cstdio>
#include <cstdlib>

#include "actors/app_file/app_file.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

planned_rate planned_rate::of(proto::Train::Reader train) {
    const auto schedule = train.getSchedule();
    planned_rate rate{.full = base_learning_rate(train.getOptimizer()),
                      .warmup_minibatches = train.getWarmupMinibatches(),
                      .schedule = active_key(schedule)};
    switch (schedule.which()) {
    case proto::LearningRateSchedule::CONSTANT:
        rate.last = rate.full;
        break;
    case proto::LearningRateSchedule::STEP:
        rate.every_epochs = schedule.getStep().getEveryEpochs();
        rate.factor = schedule.getStep().getFactor();
        break;
    case proto::LearningRateSchedule::COSINE:
        rate.last = rate.full * schedule.getCosine().getFinalFactor();
        break;
    case proto::LearningRateSchedule::POLYNOMIAL:
        rate.last = schedule.getPolynomial().getPower() > 0
                        ? rate.full * schedule.getPolynomial().getFinalFactor()
                        : rate.full;
        break;
    }
    return rate;
}

std::string describe(const planned_rate& rate) {
    std::string text = "learning rate " + digits_of(rate.full);
    if (rate.warmup_minibatches > 0)
        text += " after " + counted(rate.warmup_minibatches, "minibatch", "minibatches") +
                " of warm-up";
    if (rate.every_epochs > 0)
        return text + ", times " + digits_of(rate.factor) + " after every " +
               (rate.every_epochs == 1 ? "epoch" : counted(rate.every_epochs, "epoch"));
    if (rate.last != rate.full)
        text += ", down to " + digits_of(*rate.last) + " with the run's last minibatch by " +
                rate.schedule;
    return text;
}

std::string digits_of(float value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.7g", double{value});
    return text;
}

double decimal_of(float value) {
    return std::strtod(digits_of(value).c_str(), nullptr);
}

} // namespace troupe

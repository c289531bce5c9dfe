// Learning rates of a run, as far as they are known before its data is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/app.capnp.h"

namespace troupe {

struct planned_rate {
    float full = 0; // of the first minibatch after the warm-up
    std::uint32_t warmup_minibatches = 0;
    std::string schedule; // name in the app file
    // The rate of the run's last minibatch; none where that depends on the number of minibatches.
    std::optional<float> last;
    // Epochs between the steps of `step`; 0 for others.
    std::uint32_t every_epochs = 0;
    float factor = 1;

    static planned_rate of(proto::Train::Reader train);
};

// "learning rate 0.1 after 50 minibatches of warm-up, down to 0.005 with the run's last minibatch by cosine".
std::string describe(const planned_rate& rate);

// The value rounded to seven digits, all that a float has, as text and as a number: 0.1 for 0.1f.
std::string digits_of(float value);
double decimal_of(float value);

} // namespace troupe

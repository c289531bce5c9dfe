// The loops of optimizers' updates (kernels/ops/updates.hpp), compiled once per instruction set as those of loops.hpp and
// under the same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ops/update_settings.hpp"

namespace troupe::cpu {

// As update_operands. State that a rule does not keep is null; outputs may be the same memory as inputs.
struct update_task {
    std::size_t count;
    float learning_rate;
    std::uint64_t step;
    const float* gradient;
    const float* weight;
    const float* state[2];
    float* new_weight;
    float* new_state[2];
};

struct update_loops {
    // Settings are passed by value, so that no output can alias them.
    template <class Settings>
    using step = void (*)(Settings settings, update_task task);

    step<sgd_settings> sgd;
    step<adagrad_settings> adagrad;
    step<rmsprop_settings> rmsprop;
    step<adadelta_settings> adadelta;
    step<adam_settings> adam;
    step<lamb_settings> lamb_direction;
    double (*sum_of_squares)(const float* x, std::size_t count);
    void (*scale)(const float* x, float factor, float* y, std::size_t count);
    void (*clip)(const float* x, float limit, float* y, std::size_t count);
};

extern const update_loops update_loops_baseline;
extern const update_loops update_loops_avx2;
extern const update_loops update_loops_avx512;

} // namespace troupe::cpu

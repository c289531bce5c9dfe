// The loops of optimizers' updates (kernels/ops/updates.hpp), compiled once per instruction set as those of loops.hpp and
// under the same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>

namespace troupe::cpu {

// What a loop reads and writes per element. Unused members are null; written ones may be the read ones.
struct update_task {
    std::size_t count;
    const float* gradient;
    const float* weight;
    const float* first;  // velocity, mean, or squares where they are all
    const float* second; // squares, or step_squares
    float* new_weight;
    float* new_first;
    float* new_second;

    float rate;
    float weight_decay;
    float gradient_scale;
    float epsilon;
    float decay1;        // momentum, beta1, or decay
    float decay2;        // beta2
    float mean_scale;    // 1 / (1 - beta1^t)
    float squares_scale; // 1 / (1 - beta2^t)
    bool nesterov;
    bool decoupled;
};

struct update_loops {
    void (*sgd)(const update_task& task);
    void (*adagrad)(const update_task& task);
    void (*rmsprop)(const update_task& task);
    void (*adadelta)(const update_task& task);
    void (*adam)(const update_task& task);
    void (*lamb_direction)(const update_task& task); // into new_weight
    double (*sum_of_squares)(const float* x, std::size_t count);
    void (*clip)(const float* x, float limit, float* y, std::size_t count);
};

extern const update_loops update_loops_baseline;
extern const update_loops update_loops_avx2;
extern const update_loops update_loops_avx512;

} // namespace troupe::cpu

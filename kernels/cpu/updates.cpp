#include <cmath>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/update_loops.hpp"

namespace troupe {

using cpu::floats;

namespace {

// 1 / (1 - beta^t), for an average that began with 0.
float bias_scale(float beta, std::uint64_t t) {
    return static_cast<float>(1 / (1 - std::pow(double{beta}, static_cast<double>(t))));
}

template <class Update>
cpu::update_task task_of(const Update& op) {
    cpu::update_task task{};
    task.count = op.weight.elements();
    task.gradient = floats(op.gradient);
    task.weight = floats(op.weight);
    task.weight_decay = op.weight_decay;
    return task;
}

template <class Update>
cpu::update_task adam_task(const Update& op, tensor& output) {
    auto task = task_of(op);
    task.first = floats(op.mean);
    task.second = floats(op.squares);
    task.new_weight = floats(output);
    task.new_first = floats(op.new_mean);
    task.new_second = floats(op.new_squares);
    task.epsilon = op.epsilon;
    task.decay1 = op.beta1;
    task.decay2 = op.beta2;
    task.mean_scale = bias_scale(op.beta1, op.step);
    task.squares_scale = bias_scale(op.beta2, op.step);
    return task;
}

} // namespace

result<void> cpu_operations::compute(const sgd_update& op) {
    const cpu::arithmetic_scope scope;
    auto task = task_of(op);
    if (op.velocity != nullptr) {
        task.first = floats(*op.velocity);
        task.new_first = floats(*op.new_velocity);
    }
    task.new_weight = floats(op.new_weight);
    task.rate = op.learning_rate;
    task.decay1 = op.momentum;
    task.gradient_scale = op.gradient_scale;
    task.nesterov = op.nesterov;
    update_loops_.sgd(task);
    return {};
}

result<void> cpu_operations::compute(const adagrad_update& op) {
    const cpu::arithmetic_scope scope;
    auto task = task_of(op);
    task.first = floats(op.squares);
    task.new_weight = floats(op.new_weight);
    task.new_first = floats(op.new_squares);
    task.rate = op.learning_rate;
    task.epsilon = op.epsilon;
    update_loops_.adagrad(task);
    return {};
}

result<void> cpu_operations::compute(const rmsprop_update& op) {
    const cpu::arithmetic_scope scope;
    auto task = task_of(op);
    task.first = floats(op.squares);
    task.new_weight = floats(op.new_weight);
    task.new_first = floats(op.new_squares);
    task.rate = op.learning_rate;
    task.decay1 = op.decay;
    task.epsilon = op.epsilon;
    update_loops_.rmsprop(task);
    return {};
}

result<void> cpu_operations::compute(const adadelta_update& op) {
    const cpu::arithmetic_scope scope;
    auto task = task_of(op);
    task.first = floats(op.squares);
    task.second = floats(op.step_squares);
    task.new_weight = floats(op.new_weight);
    task.new_first = floats(op.new_squares);
    task.new_second = floats(op.new_step_squares);
    task.rate = op.learning_rate;
    task.decay1 = op.decay;
    task.epsilon = op.epsilon;
    update_loops_.adadelta(task);
    return {};
}

result<void> cpu_operations::compute(const adam_update& op) {
    const cpu::arithmetic_scope scope;
    auto task = adam_task(op, op.new_weight);
    task.rate = op.learning_rate;
    task.decoupled = op.decoupled;
    update_loops_.adam(task);
    return {};
}

result<void> cpu_operations::compute(const lamb_direction& op) {
    const cpu::arithmetic_scope scope;
    update_loops_.lamb_direction(adam_task(op, op.direction));
    return {};
}

result<void> cpu_operations::compute(const sum_of_squares& op) {
    const cpu::arithmetic_scope scope;
    op.sum = update_loops_.sum_of_squares(floats(op.input), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const clip& op) {
    const cpu::arithmetic_scope scope;
    update_loops_.clip(floats(op.input), op.limit, floats(op.output), op.input.elements());
    return {};
}

} // namespace troupe

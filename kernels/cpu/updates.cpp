#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/update_loops.hpp"

namespace troupe {

using cpu::floats;

namespace {

template <class Settings>
result<void> step(cpu::update_loops::step<Settings> loop, const weight_update<Settings>& op) {
    const cpu::arithmetic_scope scope;
    const update_operands& o = op.operands;
    cpu::update_task task{.count = o.weight.elements(),
                          .learning_rate = o.learning_rate,
                          .step = o.step,
                          .gradient = floats(o.gradient),
                          .weight = floats(o.weight),
                          .state = {},
                          .new_weight = floats(o.new_weight),
                          .new_state = {}};
    for (std::size_t i = 0; i < o.state.size(); ++i) {
        task.state[i] = floats(o.state[i]);
        task.new_state[i] = floats(o.new_state[i]);
    }
    loop(op.settings, task);
    return {};
}

} // namespace

result<void> cpu_operations::compute(const sgd_update& op) {
    return step(update_loops_.sgd, op);
}

result<void> cpu_operations::compute(const adagrad_update& op) {
    return step(update_loops_.adagrad, op);
}

result<void> cpu_operations::compute(const rmsprop_update& op) {
    return step(update_loops_.rmsprop, op);
}

result<void> cpu_operations::compute(const adadelta_update& op) {
    return step(update_loops_.adadelta, op);
}

result<void> cpu_operations::compute(const adam_update& op) {
    return step(update_loops_.adam, op);
}

result<void> cpu_operations::compute(const lamb_direction& op) {
    return step(update_loops_.lamb_direction, op);
}

result<void> cpu_operations::compute(const sum_of_squares& op) {
    const cpu::arithmetic_scope scope;
    op.sum = update_loops_.sum_of_squares(floats(op.input), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const scale& op) {
    const cpu::arithmetic_scope scope;
    update_loops_.scale(floats(op.input), op.factor, floats(op.output), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const clip& op) {
    const cpu::arithmetic_scope scope;
    update_loops_.clip(floats(op.input), op.limit, floats(op.output), op.input.elements());
    return {};
}

} // namespace troupe

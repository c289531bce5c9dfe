#include <cmath>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

double at(const tensor& t, std::size_t i) {
    return double{t.values<float>()[i]};
}

void set(tensor& t, std::size_t i, double value) {
    t.mutable_values<float>()[i] = static_cast<float>(value);
}

// How far an average that began with 0 has come after t steps: 1 - beta^t.
double bias_correction(float beta, std::uint64_t t) {
    return 1 - std::pow(double{beta}, static_cast<double>(t));
}

template <class Update>
double decayed_gradient(const Update& op, std::size_t i) {
    return at(op.gradient, i) + double{op.weight_decay} * at(op.weight, i);
}

double average(float decay, double old, double next) {
    return double{decay} * old + (1 - double{decay}) * next;
}

} // namespace

result<void> reference_operations::compute(const sgd_update& op) {
    for (std::size_t i = 0; i < op.weight.elements(); ++i) {
        const double g = double{op.gradient_scale} * decayed_gradient(op, i);
        double step = g;
        if (op.velocity != nullptr) {
            const double m = double{op.momentum} * at(*op.velocity, i) + g;
            step = op.nesterov ? g + double{op.momentum} * m : m;
            set(*op.new_velocity, i, m);
        }
        set(op.new_weight, i, at(op.weight, i) - double{op.learning_rate} * step);
    }
    return {};
}

result<void> reference_operations::compute(const adagrad_update& op) {
    for (std::size_t i = 0; i < op.weight.elements(); ++i) {
        const double g = decayed_gradient(op, i);
        const double s = at(op.squares, i) + g * g;
        set(op.new_weight, i,
            at(op.weight, i) - double{op.learning_rate} * g / (std::sqrt(s) + double{op.epsilon}));
        set(op.new_squares, i, s);
    }
    return {};
}

result<void> reference_operations::compute(const rmsprop_update& op) {
    for (std::size_t i = 0; i < op.weight.elements(); ++i) {
        const double g = decayed_gradient(op, i);
        const double s = average(op.decay, at(op.squares, i), g * g);
        set(op.new_weight, i,
            at(op.weight, i) - double{op.learning_rate} * g / (std::sqrt(s) + double{op.epsilon}));
        set(op.new_squares, i, s);
    }
    return {};
}

result<void> reference_operations::compute(const adadelta_update& op) {
    for (std::size_t i = 0; i < op.weight.elements(); ++i) {
        const double g = decayed_gradient(op, i);
        const double s = average(op.decay, at(op.squares, i), g * g);
        const double d = std::sqrt(at(op.step_squares, i) + double{op.epsilon}) /
                         std::sqrt(s + double{op.epsilon}) * g;
        const double u = average(op.decay, at(op.step_squares, i), d * d);
        set(op.new_weight, i, at(op.weight, i) - double{op.learning_rate} * d);
        set(op.new_squares, i, s);
        set(op.new_step_squares, i, u);
    }
    return {};
}

result<void> reference_operations::compute(const adam_update& op) {
    const double rate = double{op.learning_rate};
    for (std::size_t i = 0; i < op.weight.elements(); ++i) {
        const double g = op.decoupled ? at(op.gradient, i) : decayed_gradient(op, i);
        const double m = average(op.beta1, at(op.mean, i), g);
        const double s = average(op.beta2, at(op.squares, i), g * g);
        const double d = m / bias_correction(op.beta1, op.step) /
                         (std::sqrt(s / bias_correction(op.beta2, op.step)) + double{op.epsilon});
        const double kept = op.decoupled ? 1 - rate * double{op.weight_decay} : 1;
        set(op.new_weight, i, kept * at(op.weight, i) - rate * d);
        set(op.new_mean, i, m);
        set(op.new_squares, i, s);
    }
    return {};
}

result<void> reference_operations::compute(const lamb_direction& op) {
    for (std::size_t i = 0; i < op.weight.elements(); ++i) {
        const double g = at(op.gradient, i);
        const double m = average(op.beta1, at(op.mean, i), g);
        const double s = average(op.beta2, at(op.squares, i), g * g);
        const double d = m / bias_correction(op.beta1, op.step) /
                         (std::sqrt(s / bias_correction(op.beta2, op.step)) + double{op.epsilon});
        set(op.direction, i, d + double{op.weight_decay} * at(op.weight, i));
        set(op.new_mean, i, m);
        set(op.new_squares, i, s);
    }
    return {};
}

result<void> reference_operations::compute(const sum_of_squares& op) {
    op.sum = 0;
    for (const float x : op.input.values<float>())
        op.sum += double{x} * double{x};
    return {};
}

result<void> reference_operations::compute(const clip& op) {
    for (std::size_t i = 0; i < op.input.elements(); ++i) {
        const float x = op.input.values<float>()[i];
        op.output.mutable_values<float>()[i] = x > op.limit    ? op.limit
                                               : x < -op.limit ? -op.limit
                                                               : x;
    }
    return {};
}

} // namespace troupe

#include <cmath>

#include "kernels/reference/elements.hpp"
#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// How far an average that began with 0 has come after t steps: 1 - beta^t.
double bias_correction(float beta, std::uint64_t t) {
    return 1 - std::pow(double{beta}, static_cast<double>(t));
}

double decayed_gradient(const update_operands& o, float weight_decay, std::size_t i) {
    return at(o.gradient, i) + double{weight_decay} * at(o.weight, i);
}

double average(float decay, double old, double next) {
    return double{decay} * old + (1 - double{decay}) * next;
}

// Writes the moments of Adam and returns its direction.
template <class Settings>
double advance_moments(const Settings& s, const update_operands& o, double g, std::size_t i) {
    const double m = average(s.beta1, at(o.state[0], i), g);
    const double v = average(s.beta2, at(o.state[1], i), g * g);
    set(o.new_state[0], i, m);
    set(o.new_state[1], i, v);
    return m / bias_correction(s.beta1, o.step) /
           (std::sqrt(v / bias_correction(s.beta2, o.step)) + double{s.epsilon});
}

} // namespace

result<void> reference_operations::compute(const sgd_update& op) {
    const auto& [s, o] = op;
    for (std::size_t i = 0; i < o.weight.elements(); ++i) {
        const double g = double{s.gradient_scale} * decayed_gradient(o, s.weight_decay, i);
        double step = g;
        if (s.momentum != 0) {
            const double m = double{s.momentum} * at(o.state[0], i) + g;
            step = s.nesterov ? g + double{s.momentum} * m : m;
            set(o.new_state[0], i, m);
        }
        set(o.new_weight, i, at(o.weight, i) - double{o.learning_rate} * step);
    }
    return {};
}

result<void> reference_operations::compute(const adagrad_update& op) {
    const auto& [s, o] = op;
    for (std::size_t i = 0; i < o.weight.elements(); ++i) {
        const double g = decayed_gradient(o, s.weight_decay, i);
        const double squares = at(o.state[0], i) + g * g;
        const double step = double{o.learning_rate} * g / (std::sqrt(squares) + double{s.epsilon});
        set(o.new_weight, i, at(o.weight, i) - step);
        set(o.new_state[0], i, squares);
    }
    return {};
}

result<void> reference_operations::compute(const rmsprop_update& op) {
    const auto& [s, o] = op;
    for (std::size_t i = 0; i < o.weight.elements(); ++i) {
        const double g = decayed_gradient(o, s.weight_decay, i);
        const double squares = average(s.decay, at(o.state[0], i), g * g);
        const double step = double{o.learning_rate} * g / (std::sqrt(squares) + double{s.epsilon});
        set(o.new_weight, i, at(o.weight, i) - step);
        set(o.new_state[0], i, squares);
    }
    return {};
}

result<void> reference_operations::compute(const adadelta_update& op) {
    const auto& [s, o] = op;
    for (std::size_t i = 0; i < o.weight.elements(); ++i) {
        const double g = decayed_gradient(o, s.weight_decay, i);
        const double squares = average(s.decay, at(o.state[0], i), g * g);
        const double d = std::sqrt(at(o.state[1], i) + double{s.epsilon}) /
                         std::sqrt(squares + double{s.epsilon}) * g;
        set(o.new_weight, i, at(o.weight, i) - double{o.learning_rate} * d);
        set(o.new_state[0], i, squares);
        set(o.new_state[1], i, average(s.decay, at(o.state[1], i), d * d));
    }
    return {};
}

result<void> reference_operations::compute(const adam_update& op) {
    const auto& [s, o] = op;
    const double rate = double{o.learning_rate};
    const double kept = s.decoupled ? 1 - rate * double{s.weight_decay} : 1;
    for (std::size_t i = 0; i < o.weight.elements(); ++i) {
        const double w = at(o.weight, i);
        const double g = decayed_gradient(o, s.decoupled ? 0 : s.weight_decay, i);
        set(o.new_weight, i, kept * w - rate * advance_moments(s, o, g, i));
    }
    return {};
}

result<void> reference_operations::compute(const lamb_direction& op) {
    const auto& [s, o] = op;
    for (std::size_t i = 0; i < o.weight.elements(); ++i) {
        const double w = at(o.weight, i);
        set(o.new_weight, i,
            advance_moments(s, o, at(o.gradient, i), i) + double{s.weight_decay} * w);
    }
    return {};
}

result<void> reference_operations::compute(const sum_of_squares& op) {
    op.sum = 0;
    for (const float x : op.input.values<float>())
        op.sum += double{x} * double{x};
    return {};
}

result<void> reference_operations::compute(const scale& op) {
    for (std::size_t i = 0; i < op.input.elements(); ++i)
        op.output.mutable_values<float>()[i] = op.factor * op.input.values<float>()[i];
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

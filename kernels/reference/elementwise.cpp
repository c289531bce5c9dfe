#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

// A function's value and slope at x.
struct point {
    double value, slope;
};

point evaluate(pointwise function, double x) {
    const double s = logistic(x);
    switch (function) {
    case pointwise::gelu: {
        const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
        const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
        return {x * below, below + x * density};
    }
    case pointwise::gelu_tanh: {
        const double root = std::sqrt(2 / std::numbers::pi);
        const double t = std::tanh(root * (x + 0.044715 * x * x * x));
        const double inner = root * (1 + 3 * 0.044715 * x * x);
        return {0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner};
    }
    case pointwise::silu:
        return {x * s, s + x * s * (1 - s)};
    case pointwise::sigmoid:
        return {s, s * (1 - s)};
    case pointwise::tanh: {
        const double t = std::tanh(x);
        return {t, 1 - t * t};
    }
    }
    return {};
}

} // namespace

result<void> reference_operations::compute(const relu_forward& op) {
    std::ranges::transform(op.input.values<float>(), op.output.mutable_values<float>().begin(),
                           [](float x) { return x < 0 ? 0 : x; });
    return {};
}

result<void> reference_operations::compute(const relu_backward& op) {
    std::ranges::transform(op.output.values<float>(), op.output_gradient.values<float>(),
                           op.input_gradient.mutable_values<float>().begin(),
                           [](float y, float g) { return y > 0 ? g : 0; });
    return {};
}

result<void> reference_operations::compute(const pointwise_forward& op) {
    std::ranges::transform(
        op.input.values<float>(), op.output.mutable_values<float>().begin(),
        [&](float x) { return static_cast<float>(evaluate(op.function, double{x}).value); });
    return {};
}

result<void> reference_operations::compute(const pointwise_backward& op) {
    std::ranges::transform(
        op.input.values<float>(), op.output_gradient.values<float>(),
        op.input_gradient.mutable_values<float>().begin(), [&](float x, float g) {
            return static_cast<float>(evaluate(op.function, double{x}).slope * double{g});
        });
    return {};
}

result<void> reference_operations::compute(const swiglu_forward& op) {
    std::ranges::transform(op.gate.values<float>(), op.up.values<float>(),
                           op.output.mutable_values<float>().begin(), [](float gate, float up) {
                               return static_cast<float>(
                                   evaluate(pointwise::silu, double{gate}).value * double{up});
                           });
    return {};
}

result<void> reference_operations::compute(const swiglu_backward& op) {
    for (std::size_t i = 0; i < op.gate.elements(); ++i) {
        const point silu = evaluate(pointwise::silu, double{op.gate.values<float>()[i]});
        const double up = double{op.up.values<float>()[i]};
        const double g = double{op.output_gradient.values<float>()[i]};
        op.gate_gradient.mutable_values<float>()[i] = static_cast<float>(silu.slope * up * g);
        op.up_gradient.mutable_values<float>()[i] = static_cast<float>(silu.value * g);
    }
    return {};
}

result<void> reference_operations::compute(const add_scaled& op) {
    std::ranges::transform(op.x.values<float>(), op.y.values<float>(),
                           op.sum.mutable_values<float>().begin(),
                           [&](float a, float b) { return a + op.factor * b; });
    return {};
}

result<void> reference_operations::compute(const fill& op) {
    std::ranges::fill(op.output.mutable_values<float>(), op.value);
    return {};
}

} // namespace troupe

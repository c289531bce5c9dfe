#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/reference/elements.hpp"
#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

const double tanh_scale = std::sqrt(2 / std::numbers::pi);
constexpr double cubic = 0.044715;

double value(pointwise function, double x) {
    switch (function) {
    case pointwise::relu:
        return x < 0 ? 0 : x;
    case pointwise::gelu:
        return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    case pointwise::gelu_tanh:
        return 0.5 * x * (1 + std::tanh(tanh_scale * (x + cubic * x * x * x)));
    case pointwise::silu:
        return x * logistic(x);
    case pointwise::sigmoid:
        return logistic(x);
    case pointwise::tanh:
        return std::tanh(x);
    }
    return 0;
}

// The gradient of the input at `x` or, where keeps_output(function), at the output `y`, for g of the output.
double backward(pointwise function, double x, double g) {
    const double y = x;
    switch (function) {
    case pointwise::relu:
        return y > 0 ? g : 0;
    case pointwise::gelu: {
        const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
        const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
        return (below + x * density) * g;
    }
    case pointwise::gelu_tanh: {
        const double t = std::tanh(tanh_scale * (x + cubic * x * x * x));
        const double inner = tanh_scale * (1 + 3 * cubic * x * x);
        return (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner) * g;
    }
    case pointwise::silu: {
        const double s = logistic(x);
        return (s + x * s * (1 - s)) * g;
    }
    case pointwise::sigmoid:
        return y * (1 - y) * g;
    case pointwise::tanh:
        return (1 - y * y) * g;
    }
    return 0;
}

} // namespace

result<void> reference_operations::compute(const pointwise_forward& op) {
    std::ranges::transform(
        op.input.values<float>(), op.output.mutable_values<float>().begin(),
        [&](float x) { return static_cast<float>(value(op.function, double{x})); });
    return {};
}

result<void> reference_operations::compute(const pointwise_backward& op) {
    std::ranges::transform(
        op.kept.values<float>(), op.output_gradient.values<float>(),
        op.input_gradient.mutable_values<float>().begin(), [&](float kept, float g) {
            return static_cast<float>(backward(op.function, double{kept}, double{g}));
        });
    return {};
}

result<void> reference_operations::compute(const swiglu_forward& op) {
    std::ranges::transform(op.gate.values<float>(), op.up.values<float>(),
                           op.output.mutable_values<float>().begin(), [](float gate, float up) {
                               return static_cast<float>(value(pointwise::silu, double{gate}) *
                                                         double{up});
                           });
    return {};
}

result<void> reference_operations::compute(const swiglu_backward& op) {
    for (std::size_t i = 0; i < op.gate.elements(); ++i) {
        const double gate = double{op.gate.values<float>()[i]};
        const double up = double{op.up.values<float>()[i]};
        const double g = double{op.output_gradient.values<float>()[i]};
        op.gate_gradient.mutable_values<float>()[i] =
            static_cast<float>(backward(pointwise::silu, gate, up * g));
        op.up_gradient.mutable_values<float>()[i] =
            static_cast<float>(value(pointwise::silu, gate) * g);
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

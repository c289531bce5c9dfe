#include <algorithm>
#include <cmath>

#include "kernels/reference/elements.hpp"
#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// One sample's attention; rows of tensors are those of its sample.
struct attention {
    const attended_memory& m;
    const additive_parameters& p;
    std::size_t sample;
    precision products;
    std::size_t source = m.values.shape()[1];
    std::size_t memory_width = m.values.shape()[2];
    std::size_t width = m.projected.shape()[2];
    std::size_t length = m.lengths == nullptr
                             ? source
                             : static_cast<std::size_t>(m.lengths->values<std::int32_t>()[sample]);

    std::size_t memory_index(std::size_t j, std::size_t i) const {
        return (sample * source + j) * memory_width + i;
    }
    std::size_t projected_index(std::size_t j, std::size_t a) const {
        return (sample * source + j) * width + a;
    }
    // tanh(W s + U h[j])[a]
    double hidden(const tensor& state, std::size_t j, std::size_t a) const {
        const std::size_t states = state.shape()[1];
        double sum = at(m.projected, projected_index(j, a));
        for (std::size_t i = 0; i < states; ++i)
            sum += factor(at(p.query_weight, a * states + i), products) *
                   factor(at(state, sample * states + i), products);
        return std::tanh(sum);
    }
};

} // namespace

result<void> reference_operations::compute(const additive_attention_forward& op) {
    for (std::size_t s = 0; s < op.state.shape()[0]; ++s) {
        const attention of{op.memory, op.parameters, s, op.products};
        auto shares = zeros(of.source);
        for (std::size_t j = 0; j < of.length; ++j)
            for (std::size_t a = 0; a < of.width; ++a)
                shares[j] += at(op.parameters.score_weight, a) * of.hidden(op.state, j, a);
        const double largest = *std::max_element(
            shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(of.length));
        double total = 0;
        for (std::size_t j = 0; j < of.length; ++j)
            total += shares[j] = std::exp(shares[j] - largest);
        auto context = zeros(of.memory_width);
        for (std::size_t j = 0; j < of.source; ++j) {
            shares[j] /= total;
            op.shares.mutable_values<float>()[s * of.source + j] = static_cast<float>(shares[j]);
            for (std::size_t i = 0; i < of.memory_width && j < of.length; ++i)
                context[i] += shares[j] * at(op.memory.values, of.memory_index(j, i));
        }
        for (std::size_t i = 0; i < of.memory_width; ++i)
            op.context.mutable_values<float>()[s * of.memory_width + i] =
                static_cast<float>(context[i]);
    }
    return {};
}

result<void> reference_operations::compute(const additive_attention_backward& op) {
    const std::size_t states = op.state.shape()[1];
    auto to_state = zeros(op.state.elements());
    auto to_memory = zeros(op.memory.values.elements());
    auto to_projected = zeros(op.memory.projected.elements());
    auto to_query_weight = zeros(op.parameters.query_weight.elements());
    auto to_score_weight = zeros(op.parameters.score_weight.elements());
    for (std::size_t s = 0; s < op.state.shape()[0]; ++s) {
        const attention of{op.memory, op.parameters, s, op.products};
        auto to_shares = zeros(of.length);
        auto to_query = zeros(of.width);
        double mean = 0;
        for (std::size_t j = 0; j < of.length; ++j) {
            const double share = at(op.shares, s * of.source + j);
            for (std::size_t i = 0; i < of.memory_width; ++i) {
                const double g = at(op.context_gradient, s * of.memory_width + i);
                to_memory[of.memory_index(j, i)] = share * g;
                to_shares[j] += g * at(op.memory.values, of.memory_index(j, i));
            }
            mean += share * to_shares[j];
        }
        for (std::size_t j = 0; j < of.length; ++j) {
            const double to_score = at(op.shares, s * of.source + j) * (to_shares[j] - mean);
            for (std::size_t a = 0; a < of.width; ++a) {
                const double t = of.hidden(op.state, j, a);
                const double to_sum = to_score * at(op.parameters.score_weight, a) * (1 - t * t);
                to_score_weight[a] += to_score * t;
                to_projected[of.projected_index(j, a)] = to_sum;
                to_query[a] += to_sum;
            }
        }
        const auto rounded = [&](double number) { return factor(number, op.products); };
        for (std::size_t a = 0; a < of.width; ++a)
            for (std::size_t i = 0; i < states; ++i) {
                to_query_weight[a * states + i] +=
                    rounded(to_query[a]) * rounded(at(op.state, s * states + i));
                to_state[s * states + i] +=
                    rounded(to_query[a]) * rounded(at(op.parameters.query_weight, a * states + i));
            }
    }
    round_into(to_state, op.state_gradient);
    round_into(to_memory, op.gradients.memory);
    round_into(to_projected, op.gradients.projected);
    round_into(to_query_weight, op.gradients.query_weight);
    round_into(to_score_weight, op.gradients.score_weight);
    return {};
}

} // namespace troupe

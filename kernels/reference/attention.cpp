#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// Where the columns of head h of the tensor's row (sample, position) begin.
template <class Columns>
std::size_t offset(const Columns& c, std::size_t sample, std::size_t position, std::size_t column) {
    const auto& shape = c.of.shape();
    return (sample * shape[1] + position) * shape[2] + c.first + column;
}

// One query of one head of one sample.
struct query_place {
    std::size_t sample, head, position;
};

template <class Function>
void for_each_query(const tensor_shape& output, std::size_t heads, Function f) {
    for (std::size_t s = 0; s < output[0]; ++s)
        for (std::size_t h = 0; h < heads; ++h)
            for (std::size_t i = 0; i < output[1]; ++i)
                f(query_place{s, h, i});
}

// Column c of the query's head at a position, as the products take it.
template <class Attention>
double factor_at(const Attention& op, const columns& of, query_place at, std::size_t position,
                 std::size_t c) {
    const std::size_t width = op.output.shape()[2] / op.settings.heads;
    const float x = of.of.values<float>()[offset(of, at.sample, position, at.head * width + c)];
    return factor(double{x}, op.products);
}

// The scores of the keys that a query sees.
template <class Attention>
std::vector<double> scores_of(const Attention& op, query_place at) {
    const std::size_t width = op.output.shape()[2] / op.settings.heads;
    std::size_t visible = op.keys.of.shape()[1];
    if (op.key_lengths != nullptr)
        visible =
            static_cast<std::size_t>(op.key_lengths->template values<std::int32_t>()[at.sample]);
    if (op.settings.causal)
        visible = std::min(visible, at.position + 1);
    std::vector<double> scores(visible);
    for (std::size_t j = 0; j < visible; ++j)
        for (std::size_t c = 0; c < width; ++c)
            scores[j] += factor_at(op, op.queries, at, at.position, c) *
                         factor_at(op, op.keys, at, j, c) / std::sqrt(static_cast<double>(width));
    return scores;
}

double log_sum_of(const std::vector<double>& scores, double largest) {
    double total = 0;
    for (const double score : scores)
        total += std::exp(score - largest);
    return largest + std::log(total);
}

} // namespace

result<void> reference_operations::compute(const attention_forward& op) {
    const auto& shape = op.output.shape();
    const std::size_t width = shape[2] / op.settings.heads;
    for_each_query(shape, op.settings.heads, [&](query_place at) {
        const auto scores = scores_of(op, at);
        const double largest = *std::ranges::max_element(scores);
        const double log_sum = log_sum_of(scores, largest);
        auto sums = zeros(width);
        for (std::size_t j = 0; j < scores.size(); ++j) {
            const double share =
                factor(std::exp(scores[j] - largest), op.products) * std::exp(largest - log_sum);
            for (std::size_t c = 0; c < width; ++c)
                sums[c] += share * factor_at(op, op.values, at, j, c);
        }
        for (std::size_t c = 0; c < width; ++c)
            op.output.mutable_values<float>()[offset(columns{op.output}, at.sample, at.position,
                                                     at.head * width + c)] =
                static_cast<float>(sums[c]);
        op.log_sums.mutable_values<float>()[(at.sample * op.settings.heads + at.head) * shape[1] +
                                            at.position] = static_cast<float>(log_sum);
    });
    return {};
}

result<void> reference_operations::compute(const attention_backward& op) {
    const auto& shape = op.output.shape();
    const std::size_t width = shape[2] / op.settings.heads;
    const double scale = 1 / std::sqrt(static_cast<double>(width));
    const columns gradient{op.output_gradient};
    const tensor_shape key_shape{shape[0], op.keys.of.shape()[1], shape[2]};
    auto to_queries = zeros(shape.elements());
    auto to_keys = zeros(key_shape.elements());
    auto to_values = zeros(key_shape.elements());
    for_each_query(shape, op.settings.heads, [&](query_place at) {
        const std::size_t first = at.head * width;
        const std::size_t i = (at.sample * shape[1] + at.position) * shape[2] + first;
        const auto of_key = [&](std::size_t j) {
            return (at.sample * key_shape[1] + j) * shape[2] + first;
        };
        const auto scores = scores_of(op, at);
        const double log_sum = log_sum_of(scores, *std::ranges::max_element(scores));
        std::vector<double> to_shares(scores.size());
        double mean = 0;
        for (std::size_t j = 0; j < scores.size(); ++j) {
            const double share = std::exp(scores[j] - log_sum);
            for (std::size_t c = 0; c < width; ++c) {
                const double g = factor_at(op, gradient, at, at.position, c);
                to_shares[j] += g * factor_at(op, op.values, at, j, c);
                to_values[of_key(j) + c] += factor(share, op.products) * g;
            }
            mean += share * to_shares[j];
        }
        for (std::size_t j = 0; j < scores.size(); ++j) {
            const double to_score =
                factor(scale * std::exp(scores[j] - log_sum) * (to_shares[j] - mean), op.products);
            for (std::size_t c = 0; c < width; ++c) {
                to_queries[i + c] += to_score * factor_at(op, op.keys, at, j, c);
                to_keys[of_key(j) + c] += to_score * factor_at(op, op.queries, at, at.position, c);
            }
        }
    });
    const auto round_columns = [&](const std::vector<double>& sums, const mutable_columns& into) {
        const std::size_t positions = into.of.shape()[1];
        for (std::size_t n = 0; n < sums.size(); ++n)
            into.of.mutable_values<float>()[offset(into, n / shape[2] / positions,
                                                   n / shape[2] % positions, n % shape[2])] =
                static_cast<float>(sums[n]);
    };
    round_columns(to_queries, op.query_gradient);
    round_columns(to_keys, op.key_gradient);
    round_columns(to_values, op.value_gradient);
    return {};
}

} // namespace troupe

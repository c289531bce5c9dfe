#include <cmath>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// A row in double.
std::vector<double> row_of(const tensor& t, std::size_t row, std::size_t width) {
    const auto values = t.values<float>().subspan(row * width, width);
    return {values.begin(), values.end()};
}

double mean_of(const std::vector<double>& x) {
    double sum = 0;
    for (const double value : x)
        sum += value;
    return sum / static_cast<double>(x.size());
}

double mean_of_product(const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        sum += x[i] * y[i];
    return sum / static_cast<double>(x.size());
}

// Both norms of rows: without a mean and a bias that of the root mean square.
struct row_norm {
    const tensor& input;
    const tensor& weight;

    std::size_t width() const { return weight.elements(); }
    std::size_t rows() const { return input.elements() / width(); }

    void forward(float epsilon, const tensor* bias, tensor& output, tensor* mean,
                 tensor& inverse_deviation) const {
        for (std::size_t r = 0; r < rows(); ++r) {
            auto x = row_of(input, r, width());
            const double m = mean != nullptr ? mean_of(x) : 0;
            for (double& value : x)
                value -= m;
            const double scale = 1 / std::sqrt(mean_of_product(x, x) + double{epsilon});
            for (std::size_t i = 0; i < width(); ++i)
                output.mutable_values<float>()[r * width() + i] =
                    static_cast<float>(x[i] * scale * double{weight.values<float>()[i]} +
                                       (bias != nullptr ? double{bias->values<float>()[i]} : 0));
            inverse_deviation.mutable_values<float>()[r] = static_cast<float>(scale);
            if (mean != nullptr)
                mean->mutable_values<float>()[r] = static_cast<float>(m);
        }
    }

    void backward(const tensor* mean, const tensor& inverse_deviation,
                  const tensor& output_gradient, tensor* input_gradient, tensor& weight_gradient,
                  tensor* bias_gradient) const {
        auto to_weight = zeros(width());
        auto to_bias = zeros(width());
        for (std::size_t r = 0; r < rows(); ++r) {
            const double m = mean != nullptr ? double{mean->values<float>()[r]} : 0;
            const double scale = double{inverse_deviation.values<float>()[r]};
            auto x = row_of(input, r, width());
            auto g = row_of(output_gradient, r, width());
            for (std::size_t i = 0; i < width(); ++i) {
                x[i] = (x[i] - m) * scale;
                to_weight[i] += g[i] * x[i];
                to_bias[i] += g[i];
                g[i] *= double{weight.values<float>()[i]};
            }
            const double mean_g = mean != nullptr ? mean_of(g) : 0;
            const double mean_gx = mean_of_product(g, x);
            if (input_gradient != nullptr)
                for (std::size_t i = 0; i < width(); ++i)
                    input_gradient->mutable_values<float>()[r * width() + i] =
                        static_cast<float>(scale * (g[i] - mean_g - x[i] * mean_gx));
        }
        round_into(to_weight, weight_gradient);
        if (bias_gradient != nullptr)
            round_into(to_bias, *bias_gradient);
    }
};

} // namespace

result<void> reference_operations::compute(const layer_norm_forward& op) {
    row_norm{op.input, op.weight}.forward(op.epsilon, &op.bias, op.output, &op.mean,
                                          op.inverse_deviation);
    return {};
}

result<void> reference_operations::compute(const layer_norm_backward& op) {
    row_norm{op.input, op.weight}.backward(&op.mean, op.inverse_deviation, op.output_gradient,
                                           op.input_gradient, op.weight_gradient,
                                           &op.bias_gradient);
    return {};
}

result<void> reference_operations::compute(const rms_norm_forward& op) {
    row_norm{op.input, op.weight}.forward(op.epsilon, nullptr, op.output, nullptr,
                                          op.inverse_deviation);
    return {};
}

result<void> reference_operations::compute(const rms_norm_backward& op) {
    row_norm{op.input, op.weight}.backward(nullptr, op.inverse_deviation, op.output_gradient,
                                           op.input_gradient, op.weight_gradient, nullptr);
    return {};
}

} // namespace troupe

#include <algorithm>
#include <cmath>

#include "kernels/reference/elements.hpp"
#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// Images with what lies behind the channels as one dimension, in any channel block.
struct channel_images {
    std::size_t samples, channels, pixels;
    std::size_t block;

    channel_images(const tensor_shape& shape, std::size_t block)
        : samples{shape[0]}, channels{shape[1]}, pixels{shape.elements() / shape[0] / shape[1]},
          block{block} {}

    std::size_t offset(std::size_t sample, std::size_t channel, std::size_t pixel) const {
        return image_layout{{samples, channels, pixels, 1}, block}.offset(sample, channel, pixel,
                                                                          0);
    }
    double values_per_channel() const { return static_cast<double>(samples * pixels); }

    // Calls f with the offset of each value of a channel.
    template <class Function>
    void for_each_value(std::size_t channel, Function f) const {
        for (std::size_t s = 0; s < samples; ++s)
            for (std::size_t p = 0; p < pixels; ++p)
                f(offset(s, channel, p));
    }
};

// Local response norm of one pixel's channels.
struct response {
    const local_response_norm_settings& settings;
    const std::vector<double>& x;

    // The channels that count for channel c: from first to before last.
    std::size_t first(std::size_t c) const { return c - std::min(c, settings.size / 2); }
    std::size_t last(std::size_t c) const {
        return std::min(x.size(), c + (settings.size - 1) / 2 + 1);
    }
    double scale(std::size_t c) const {
        double sum = 0;
        for (std::size_t d = first(c); d < last(c); ++d)
            sum += x[d] * x[d];
        return double{settings.k} +
               double{settings.alpha} / static_cast<double>(settings.size) * sum;
    }
};

} // namespace

result<void> reference_operations::compute(const batch_norm_forward& op) {
    const channel_images images{op.input.shape(), op.settings.block};
    const double n = images.values_per_channel();
    for (std::size_t c = 0; c < images.channels; ++c) {
        double mean = 0, squares = 0;
        images.for_each_value(c, [&](std::size_t i) { mean += at(op.input, i) / n; });
        images.for_each_value(c, [&](std::size_t i) {
            squares += (at(op.input, i) - mean) * (at(op.input, i) - mean);
        });
        const double r = 1 / std::sqrt(squares / n + double{op.settings.epsilon});
        images.for_each_value(c, [&](std::size_t i) {
            set(op.output, i, (at(op.input, i) - mean) * r * at(op.weight, c) + at(op.bias, c));
        });
        set(op.mean, c, mean);
        set(op.variance, c, squares / (n - 1));
        set(op.inverse_deviation, c, r);
    }
    return {};
}

result<void> reference_operations::compute(const batch_norm_inference& op) {
    const channel_images images{op.input.shape(), op.settings.block};
    for (std::size_t c = 0; c < images.channels; ++c) {
        const double r = 1 / std::sqrt(at(op.variance, c) + double{op.settings.epsilon});
        images.for_each_value(c, [&](std::size_t i) {
            set(op.output, i,
                (at(op.input, i) - at(op.mean, c)) * r * at(op.weight, c) + at(op.bias, c));
        });
    }
    return {};
}

result<void> reference_operations::compute(const batch_norm_backward& op) {
    const channel_images images{op.input.shape(), op.settings.block};
    const double n = images.values_per_channel();
    for (std::size_t c = 0; c < images.channels; ++c) {
        const double r = at(op.inverse_deviation, c);
        const auto x = [&](std::size_t i) { return (at(op.input, i) - at(op.mean, c)) * r; };
        double to_bias = 0, to_weight = 0;
        images.for_each_value(c, [&](std::size_t i) {
            to_bias += at(op.output_gradient, i);
            to_weight += at(op.output_gradient, i) * x(i);
        });
        if (op.input_gradient != nullptr)
            images.for_each_value(c, [&](std::size_t i) {
                const double g = at(op.output_gradient, i) - to_bias / n - x(i) * to_weight / n;
                set(*op.input_gradient, i, r * at(op.weight, c) * g);
            });
        set(op.bias_gradient, c, to_bias);
        set(op.weight_gradient, c, to_weight);
    }
    return {};
}

result<void> reference_operations::compute(const local_response_norm_forward& op) {
    const channel_images images{op.input.shape(), op.settings.block};
    std::vector<double> x(images.channels);
    for (std::size_t s = 0; s < images.samples; ++s)
        for (std::size_t p = 0; p < images.pixels; ++p) {
            for (std::size_t c = 0; c < x.size(); ++c)
                x[c] = at(op.input, images.offset(s, c, p));
            const response norm{op.settings, x};
            for (std::size_t c = 0; c < x.size(); ++c)
                set(op.output, images.offset(s, c, p),
                    x[c] * std::pow(norm.scale(c), -double{op.settings.beta}));
        }
    return {};
}

result<void> reference_operations::compute(const local_response_norm_backward& op) {
    const channel_images images{op.input.shape(), op.settings.block};
    const double beta = double{op.settings.beta};
    const double factor =
        2 * double{op.settings.alpha} * beta / static_cast<double>(op.settings.size);
    std::vector<double> x(images.channels), g(images.channels);
    for (std::size_t s = 0; s < images.samples; ++s)
        for (std::size_t p = 0; p < images.pixels; ++p) {
            for (std::size_t c = 0; c < x.size(); ++c) {
                x[c] = at(op.input, images.offset(s, c, p));
                g[c] = at(op.output_gradient, images.offset(s, c, p));
            }
            const response norm{op.settings, x};
            auto to_x = zeros(x.size());
            for (std::size_t d = 0; d < x.size(); ++d) {
                to_x[d] += g[d] * std::pow(norm.scale(d), -beta);
                for (std::size_t c = norm.first(d); c < norm.last(d); ++c)
                    to_x[c] -= factor * x[c] * g[d] * x[d] * std::pow(norm.scale(d), -beta - 1);
            }
            for (std::size_t c = 0; c < x.size(); ++c)
                set(op.input_gradient, images.offset(s, c, p), to_x[c]);
        }
    return {};
}

} // namespace troupe

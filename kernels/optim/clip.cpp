#include "kernels/optim/clip.hpp"

#include <cmath>
#include <ranges>

#include "kernels/ops/ops.hpp"

namespace troupe {

std::optional<gradient_clip> make_clip(proto::GradientClip::Reader description) {
    switch (description.which()) {
    case proto::GradientClip::NONE:
        return gradient_clip{};
    case proto::GradientClip::VALUE:
        return gradient_clip{.value = description.getValue()};
    case proto::GradientClip::NORM:
        return gradient_clip{.norm = description.getNorm()};
    }
    return std::nullopt;
}

result<std::vector<double>> squares_of(compute_context& context,
                                       std::span<const tensor> gradients) {
    std::vector<double> squares(gradients.size());
    for (std::size_t i = 0; i < gradients.size(); ++i)
        if (auto done = context.ops.run(sum_of_squares{gradients[i], squares[i]}); !done)
            return done.failure();
    return squares;
}

double add_squares(double sum, std::span<const double> squares) {
    for (const double of_one : squares | std::views::reverse)
        sum += of_one;
    return sum;
}

namespace {

// Where a gradient's successor is written: over it, unless somebody else reads it.
result<tensor> successor(compute_context& context, const tensor& gradient) {
    if (gradient.unique())
        return gradient;
    return tensor::allocate(context.memory, gradient.type(), gradient.shape());
}

// Puts what `make(gradient, clipped)` computes in place of each gradient.
template <class Make>
result<void> replace_each(compute_context& context, std::span<tensor> gradients, Make make) {
    for (tensor& gradient : gradients) {
        auto clipped = successor(context, gradient);
        if (!clipped)
            return clipped.failure();
        if (auto done = context.ops.run(make(gradient, *clipped)); !done)
            return done;
        gradient = std::move(*clipped);
    }
    return {};
}

result<void> clip_by_norm(compute_context& context, float limit, std::span<tensor> gradients,
                          std::optional<double> squares) {
    if (!squares) {
        const auto own = squares_of(context, gradients);
        if (!own)
            return own.failure();
        squares = add_squares(0, *own);
    }
    const double factor = limit / (std::sqrt(*squares) + 1e-6);
    if (factor >= 1)
        return {};
    // A norm that is not a number makes all gradients that, as PyTorch's does, so that the run ends and says so.
    return replace_each(context, gradients, [&](const tensor& gradient, tensor& scaled) {
        return scale{gradient, static_cast<float>(factor), scaled};
    });
}

} // namespace

result<void> clip_gradients(compute_context& context, const gradient_clip& clip,
                            std::span<tensor> gradients, std::optional<double> squares) {
    if (clip.value) {
        auto clipped =
            replace_each(context, gradients, [&](const tensor& gradient, tensor& bounded) {
                return troupe::clip{gradient, *clip.value, bounded};
            });
        if (!clipped)
            return clipped;
    }
    if (clip.norm)
        return clip_by_norm(context, *clip.norm, gradients, squares);
    return {};
}

} // namespace troupe

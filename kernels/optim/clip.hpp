// Bounds on the gradients that an update uses.
//
// By norm: Pascanu, Mikolov and Bengio 2013, as PyTorch's clip_grad_norm_; by value: as its clip_grad_value_. The norm over
// several stages has the same bits however the model is cut, as its squares are added in one order:
//
//     double sum = 0;
//     for each stage, from the last to the first
//         sum = add_squares(sum, squares_of(context, gradients of the stage));
//     for each stage
//         clip_gradients(context, clip, gradients of the stage, sum);
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

struct gradient_clip {
    std::optional<float> value; // no element is above it, or below its negative
    std::optional<float> norm;  // of all gradients together
};

// The clipping that the app asks for; none where this build does not know it.
std::optional<gradient_clip> make_clip(proto::GradientClip::Reader description);

// The sum of the squares of the elements of each gradient.
result<std::vector<double>> squares_of(compute_context& context, std::span<const tensor> gradients);

// `sum` and these, from the last to the first.
double add_squares(double sum, std::span<const double> squares);

// In place. `squares`: the sum over all gradients that share the norm; of these alone where it is not given.
result<void> clip_gradients(compute_context& context, const gradient_clip& clip,
                            std::span<tensor> gradients,
                            std::optional<double> squares = std::nullopt);

} // namespace troupe

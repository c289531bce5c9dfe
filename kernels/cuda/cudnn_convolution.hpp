// Convolutions as cuDNN's graphs: one operation, of row-major float32.
#pragma once

#include <array>
#include <compare>

#include "kernels/cuda/cudnn_plan.hpp"

namespace troupe::cuda {

enum class conv_direction : std::uint8_t { forward, to_input, to_weight };

// The tensors of a convolution; the direction says which of them is computed from the other two.
enum conv_tensor : std::uint8_t { conv_images, conv_weight, conv_windows };
inline constexpr std::size_t conv_tensors = 3;
constexpr conv_tensor result_of(conv_direction d) noexcept {
    return d == conv_direction::forward    ? conv_windows
           : d == conv_direction::to_input ? conv_images
                                           : conv_weight;
}

// Tensors are row-major float32. Groups follow from the channels of images and weight.
struct conv_shape {
    conv_direction direction;
    std::array<std::array<std::int64_t, 4>, conv_tensors> tensors;
    std::int64_t stride, padding;
    bool may_round; // to TF32

    friend auto operator<=>(const conv_shape&, const conv_shape&) = default;
};

// Operands are by conv_tensor.
cudnn_graph graph_of(const dnn::functions& cudnn, const conv_shape& shape);
engine_rules rules_of(const conv_shape& shape) noexcept;

} // namespace troupe::cuda

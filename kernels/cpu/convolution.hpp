// Convolutions by oneDNN, one compiled object per shape.
//
// oneDNN reports failures by exception, and so does the scratch memory here; `cpu_operations` turns both into errors.
// Threads: one at a time. All images are the caller's; weights are row-major and packed here.
#pragma once

#include <compare>
#include <dnnl.hpp>
#include <optional>

#include "kernels/cpu/scratch.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe::cpu {

struct convolution_shape {
    std::size_t samples, in, height, width;
    std::size_t out, kernel_height, kernel_width;
    bool bias;
    conv2d_settings settings;

    std::size_t out_height() const noexcept {
        return windows_along(height, kernel_height, settings.stride, settings.padding);
    }
    std::size_t out_width() const noexcept {
        return windows_along(width, kernel_width, settings.stride, settings.padding);
    }
    std::size_t input_elements() const noexcept { return samples * in * height * width; }
    std::size_t output_elements() const noexcept {
        return samples * out * out_height() * out_width();
    }
    std::size_t weight_elements() const noexcept {
        return out * (in / settings.groups) * kernel_height * kernel_width;
    }

    friend auto operator<=>(const convolution_shape&, const convolution_shape&) = default;
};

// The layout of one operand of a primitive outside, and the one that the primitive wants.
struct operand_format {
    dnnl::memory::desc given;
    dnnl::memory::desc wanted;
    // Converts from given to wanted, or back for a result; none where they agree.
    std::optional<dnnl::reorder> convert;
    // The rounding before the primitive, where it does not take that type; else float32: none.
    precision rounds_to;
};

// One direction of a convolution.
struct compiled_pass {
    dnnl::primitive primitive;
    operand_format input, output; // images, or gradients of these
    operand_format weight;        // row-major outside
    dnnl::memory::desc scratch;
};

class convolution {
  public:
    // `dot_products`: uses those of bfloat16 where oneDNN has a fast implementation.
    convolution(const dnnl::engine& engine, const convolution_shape& shape, bool dot_products);

    const convolution_shape& shape() const noexcept { return shape_; }
    const dnnl::memory::desc& bias() const noexcept { return bias_; } // empty without one
    // Compiled on first use, which takes milliseconds.
    const compiled_pass& forward();
    const compiled_pass& backward_input();
    const compiled_pass& backward_weight();

  private:
    // Descriptions of images in the given layout and of weights in any layout, as a primitive takes or gives them.
    struct descriptions {
        dnnl::memory::desc input, output, weight;
    };

    descriptions of_type(dnnl::memory::data_type type) const;
    template <class Describe>
    auto fastest(const descriptions& bf16, Describe describe) const;
    dnnl::convolution_forward::primitive_desc describe_forward(const descriptions& d) const;
    operand_format read(const dnnl::memory::desc& given, const dnnl::memory::desc& wanted) const;
    operand_format written(const dnnl::memory::desc& given, const dnnl::memory::desc& wanted) const;

    dnnl::engine engine_;
    convolution_shape shape_;
    bool dot_products_;
    descriptions floats_, bf16_;
    dnnl::memory::desc weight_, bias_;
    dnnl::memory::dims strides_, padding_;
    std::optional<compiled_pass> forward_, backward_input_, backward_weight_;
};

// The number of samples that are convolved at a time, so that they stay in the cache while they are pooled. It depends on
// the shape only, and is the same for fused and separate operations: sums over samples are taken in the same order.
std::size_t samples_at_a_time(const convolution_shape& shape) noexcept;

} // namespace troupe::cpu

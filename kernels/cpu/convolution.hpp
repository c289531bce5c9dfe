// Convolutions by oneDNN, one compiled object per shape.
//
// oneDNN reports failures by exception, and so does the scratch memory here; `cpu_operations` turns both into errors.
// Threads: one at a time. All images are the caller's; weights are row-major and packed here.
#pragma once

#include <compare>
#include <dnnl.hpp>
#include <memory>
#include <optional>

#include "kernels/ops/ops.hpp"

namespace troupe::cpu {

// Thrown where memory runs out; holds the pool's error.
struct out_of_memory {
    error why;
};

// Memory of the pool, for as long as it lives.
class scratch {
  public:
    scratch(memory_pool& pool, std::size_t bytes) {
        auto memory = pool.allocate(bytes);
        if (!memory)
            throw out_of_memory{memory.failure()};
        memory_ = std::move(*memory);
    }
    void* bytes() const noexcept { return memory_->data(); }
    float* floats() const noexcept { return reinterpret_cast<float*>(memory_->data()); }

  private:
    buffer_ref memory_;
};

struct convolution_shape {
    std::size_t samples, in, height, width;
    std::size_t out, kernel_height, kernel_width;
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
    std::size_t weight_elements() const noexcept { return out * in * kernel_height * kernel_width; }

    friend auto operator<=>(const convolution_shape&, const convolution_shape&) = default;
};

// One direction of a convolution: the primitive, and how its weights are packed.
struct compiled_pass {
    dnnl::primitive primitive;
    dnnl::memory::desc input, output, weight, scratch; // as the primitive wants them
    dnnl::memory::desc plain_weight;                   // row-major
    std::optional<dnnl::reorder>
        pack; // row-major to `weight` (from it, for weight gradients); none where they agree
};

class convolution {
  public:
    convolution(const dnnl::engine& engine, const convolution_shape& shape);

    const convolution_shape& shape() const noexcept { return shape_; }
    const dnnl::memory::desc& bias() const noexcept { return bias_; }
    // Compiled on first use, which takes milliseconds.
    const compiled_pass& forward();
    const compiled_pass& backward_input();
    const compiled_pass& backward_weight();

  private:
    dnnl::engine engine_;
    convolution_shape shape_;
    dnnl::memory::desc input_, output_, plain_weight_, any_weight_, bias_;
    dnnl::memory::dims strides_, padding_;
    dnnl::convolution_forward::primitive_desc description_;
    std::optional<compiled_pass> forward_, backward_input_, backward_weight_;
};

// How many samples are convolved at a time, so that they stay in the cache while they are pooled. Depends on the shape
// only, and is the same for fused and separate operations: sums over samples are taken in the same order.
std::size_t samples_at_a_time(const convolution_shape& shape) noexcept;

} // namespace troupe::cpu

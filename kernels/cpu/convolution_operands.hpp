// A convolution with what surrounds it, as both of its algorithms take it: a few samples at a time, so that what lies
// between convolution, relu and max_pool stays in the cache.
#pragma once

#include "kernels/cpu/convolution.hpp"
#include "kernels/cpu/loops.hpp"

namespace troupe::cpu {

// Both kinds of forward pass: without a pool, `positions` is null and `output` that of the convolution.
struct forward_convolution {
    convolution_shape shape;
    const tensor& input;
    const tensor& weight;
    const tensor* bias;
    tensor& output;
    const max_pool_settings* pool = nullptr;
    tensor* positions = nullptr;
};

// Both kinds of backward pass: without a pool, `output` and `positions` are null.
struct backward_convolution {
    convolution_shape shape;
    const tensor& input;
    const tensor& weight;
    const tensor& output_gradient;
    tensor* input_gradient;
    tensor& weight_gradient;
    tensor* bias_gradient;
    const max_pool_settings* pool = nullptr;
    const tensor* output = nullptr;
    const tensor* positions = nullptr;
};

inline convolution_shape shape_of(const conv2d_settings& settings, const tensor& input,
                                  const tensor& weight, bool bias) noexcept {
    const auto& i = input.shape();
    const auto& w = weight.shape();
    return {i[0], i[1], i[2], i[3], w[0], w[2], w[3], bias, settings};
}

inline convolution_shape with_samples(convolution_shape shape, std::size_t samples) noexcept {
    shape.samples = samples;
    return shape;
}

// The first value of sample `s`.
inline const float* sample(const tensor& t, std::size_t s) {
    return t.values<float>().data() + s * (t.elements() / t.shape()[0]);
}
inline float* sample(tensor& t, std::size_t s) {
    return t.mutable_values<float>().data() + s * (t.elements() / t.shape()[0]);
}

// The task of the loops that pool images of shape `images`.
pool_task pooling(const max_pool_settings& settings, const tensor_shape& images,
                  bool relu) noexcept;

// Relu and pool of `convolved`, the results of `samples` samples from `first` on; and back.
void pool_part(const loops& loops, const forward_convolution& o, std::size_t first,
               std::size_t samples, const float* convolved);
void unpool_part(const loops& loops, const backward_convolution& o, std::size_t first,
                 std::size_t samples, float* convolved_gradient);

} // namespace troupe::cpu

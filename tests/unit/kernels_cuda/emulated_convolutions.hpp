// Convolutions on the emulated GPU, and what the reference makes of the same operands.
#pragma once

#include <boost/test/unit_test.hpp>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/memory_sources.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/conformance/case_runs.hpp"

namespace troupe::test {

struct convolution_shape {
    tensor_shape images, weight;
    conv2d_settings settings;

    tensor_shape output() const {
        const auto [stride, padding] = std::pair{settings.stride, settings.padding};
        return {images[0], weight[0], windows_along(images[2], weight[2], stride, padding),
                windows_along(images[3], weight[3], stride, padding)};
    }
};

class emulated_gpu {
  public:
    ~emulated_gpu() {
        run_.reset();
        scratch_.reset();
        cudaStreamDestroy(stream_);
    }

    memory_pool& pool() { return pool_; }
    memory_pool& device_pool() { return *scratch_; } // no check of operands looks into it
    cuda::execution& run() { return *run_; }

    // The outcome of what has been put into the stream.
    result<void> waited(const result<void>& put) {
        auto end = run_->wait();
        return put ? end : put;
    }

  private:
    static cudaStream_t made_stream() {
        cudaStream_t made = nullptr;
        BOOST_REQUIRE(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking) == cudaSuccess);
        return made;
    }

    memory_pool pool_{1 << 26};
    cudaStream_t stream_ = made_stream();
    std::unique_ptr<memory_pool> scratch_ = std::make_unique<memory_pool>(
        1 << 26, std::make_unique<cuda::stream_memory>(0, stream_), memory_kind::device);
    std::unique_ptr<cuda::execution> run_ =
        std::make_unique<cuda::execution>(stream_, *scratch_, pool_);
};

// The output and all gradients, of operands that depend on the shapes alone.
template <class Forward, class Backward>
std::vector<tensor> results_of(memory_pool& pool, const convolution_shape& shape, Forward forward,
                               Backward backward) {
    const auto made = [&](const tensor_shape& of) {
        return tensor::allocate(pool, data_type::float32, of).value();
    };
    const tensor input = random_tensor(pool, shape.images, 1);
    const tensor weight = random_tensor(pool, shape.weight, 2);
    const tensor bias = random_tensor(pool, {shape.weight[0]}, 3);
    const tensor gradient = random_tensor(pool, shape.output(), 4);
    tensor output = made(shape.output()), to_input = made(shape.images),
           to_weight = made(shape.weight), to_bias = made(bias.shape());
    BOOST_REQUIRE(forward(conv2d_forward{shape.settings, input, weight, &bias, output}).ok());
    BOOST_REQUIRE(backward(conv2d_backward{shape.settings, input, weight, gradient, &to_input,
                                           to_weight, &to_bias})
                      .ok());
    return {output, to_input, to_weight, to_bias};
}

inline std::vector<tensor> expected_of(memory_pool& pool, const convolution_shape& shape) {
    const auto reference = make_reference_operations();
    const auto run = [&](const auto& op) { return reference->run(op); };
    return results_of(pool, shape, run, run);
}

} // namespace troupe::test

// Kernels that compute every element by itself, and what all kernels share.
//
// A file of ops/ has its helpers, its kernels and its launchers, in this order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/status.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe::cuda {

inline constexpr unsigned block_threads = 256;

// Where the elements lie for kernels. Not tensor::values(), which is for the host.
inline const float* floats(const tensor& t) noexcept {
    return reinterpret_cast<const float*>(t.data());
}
inline float* floats(tensor& t) noexcept {
    return reinterpret_cast<float*>(t.mutable_data());
}
inline float* floats(tensor* t) noexcept { // null without a tensor
    return t == nullptr ? nullptr : floats(*t);
}
inline const float* floats(const tensor* t) noexcept {
    return t == nullptr ? nullptr : floats(*t);
}
inline const std::int32_t* integers(const tensor& t) noexcept {
    return reinterpret_cast<const std::int32_t*>(t.data());
}
inline float* floats(const buffer_ref& scratch) noexcept {
    return reinterpret_cast<float*>(scratch->data());
}

struct launch_shape {
    dim3 grid;
    dim3 block = block_threads;
    std::size_t shared_bytes = 0;
};

// Puts a kernel into the stream. Nothing to do is no error: a grid of no blocks is not launched.
template <class... Parameters, class... Arguments>
cudaError_t launch(cudaStream_t stream, const launch_shape& shape, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
    if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0)
        return cudaSuccess;
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

// Blocks for so many elements at one thread each; beyond `blocks_max` threads go on with further elements.
inline constexpr std::size_t blocks_max = 1u << 20;
inline unsigned blocks_for(std::size_t elements, std::size_t threads = block_threads) noexcept {
    const std::size_t blocks = (elements + threads - 1) / threads;
    return static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max);
}

__device__ inline std::size_t first_element() {
    return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t element_step() {
    return std::size_t{gridDim.x} * blockDim.x;
}

template <class Function>
__global__ void each_element_kernel(std::size_t count, Function function) {
    for (std::size_t i = first_element(); i < count; i += element_step())
        function(i);
}

// Calls function(i), a __device__ member, for every i below count, each by a thread of its own.
template <class Function>
cudaError_t launch_elements(cudaStream_t stream, std::size_t count, const Function& function) {
    return launch(stream, {blocks_for(count)}, each_element_kernel<Function>, count, function);
}

// The one at the lowest place stays, of all that are reported.
__device__ inline void report_bad(unsigned long long* slot, std::size_t place, std::int32_t value) {
    atomicMin(slot,
              static_cast<unsigned long long>(place) << 32 | static_cast<std::uint32_t>(value));
}

} // namespace troupe::cuda

// CUDA on a processor: what the files of kernels/cuda use of it, by the names and meanings of the CUDA 13 runtime, so that
// their sources compile as C++ and run in tests on machines without a GPU or a toolkit. Found instead of NVIDIA's header by
// the include path of the targets in tests/meson.build.
//
// Kernels run as they stand: the threads of a block take turns (blocks.hpp), with barriers, shared memory and warps of 32.
// A stream is a thread that does what was put into it in order, after the call that put it there has returned. Memory of
// the device is the host's, filled with NaN when it is handed out.
//
// Differences: blocks run one after the other, so that races between blocks are not found; a * b + c is never one
// instruction; results of mathematical functions are those of the C library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>

#include "tests/emulated_cuda/blocks.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __shared__ static thread_local
#define __constant__ static const

using emulated::blockDim;
using emulated::blockIdx;
using emulated::dim3;
using emulated::gridDim;
using emulated::threadIdx;
inline constexpr int warpSize = 32;

// ---- types ----------------------------------------------------------------------------------------------------------

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400, // a stream or event of another device than the thread's
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchFailure = 719,
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

namespace emulated {
class stream;
class event;
} // namespace emulated
using cudaStream_t = emulated::stream*;
using cudaEvent_t = emulated::event*;

inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaDeviceScheduleBlockingSync = 4;
inline constexpr unsigned cudaEventBlockingSync = 1;
inline constexpr unsigned cudaEventDisableTiming = 2;
inline constexpr unsigned cudaHostAllocDefault = 0;

struct cudaDeviceProp {
    char name[256];
    std::size_t totalGlobalMem;
    int major, minor;
    int multiProcessorCount;
};

namespace emulated {
// From now on every event fails, as on a GPU after a kernel has gone astray; or works again.
void fail_events(bool fail);
} // namespace emulated

// ---- the runtime (runtime.cpp) ----------------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
const char* cudaGetErrorName(cudaError_t status);
const char* cudaGetErrorString(cudaError_t status);
cudaError_t cudaGetLastError();

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream);
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);

// ---- launches ---------------------------------------------------------------------------------------------------------

struct cudaLaunchConfig_t {
    dim3 gridDim;
    dim3 blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    void* attrs = nullptr;
    unsigned numAttrs = 0;
};

namespace emulated {
cudaError_t submit(cudaStream_t stream, std::function<void()> work);
bool fits(const cudaLaunchConfig_t& config);
} // namespace emulated

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
    if (!emulated::fits(*config))
        return cudaErrorInvalidValue;
    return emulated::submit(config->stream, [shape = *config, kernel,
                                             values = std::tuple<Parameters...>{arguments...}] {
        emulated::run_grid(shape.gridDim, shape.blockDim, shape.dynamicSmemBytes,
                           [&] { std::apply(kernel, values); });
    });
}

// ---- in kernels -------------------------------------------------------------------------------------------------------

struct alignas(16) float4 {
    float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

inline void __syncthreads() {
    emulated::block_barrier();
}
inline void __syncwarp(unsigned = 0xffffffffu) {
    emulated::warp_barrier();
}
inline void __threadfence() {}

// Lanes that have left the kernel give 0.
template <class T>
T __shfl_sync(unsigned, T value, int lane, int width = 32) {
    const int mine = emulated::lane();
    return emulated::exchange(value, mine / width * width + lane % width);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
    return emulated::exchange(value, emulated::lane() ^ mask);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta, int width = 32) {
    const int mine = emulated::lane();
    const int from = mine + static_cast<int>(delta);
    return emulated::exchange(value, from / width == mine / width ? from : mine);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned delta, int width = 32) {
    const int mine = emulated::lane();
    const int from = mine - static_cast<int>(delta);
    return emulated::exchange(value, from >= mine / width * width ? from : mine);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
    return emulated::lanes_that_show(true, predicate != 0);
}
template <class T>
unsigned __match_any_sync(unsigned, T value) {
    return emulated::lanes_that_show(emulated::bits_of(value), emulated::bits_of(value));
}

// Threads take turns, so that plain reads and writes are atomic.
template <class T>
T atomicAdd(T* at, T value) {
    const T old = *at;
    *at = old + value;
    return old;
}
template <class T>
T atomicMin(T* at, T value) {
    const T old = *at;
    *at = std::min(old, value);
    return old;
}
template <class T>
T atomicMax(T* at, T value) {
    const T old = *at;
    *at = std::max(old, value);
    return old;
}
template <class T>
T atomicOr(T* at, T value) {
    const T old = *at;
    *at = old | value;
    return old;
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
    const T old = *at;
    if (old == expected)
        *at = value;
    return old;
}

inline int __popc(unsigned bits) {
    return __builtin_popcount(bits);
}
inline int __ffs(int bits) {
    return __builtin_ffs(bits);
}
inline int __clz(int bits) {
    return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline unsigned __float_as_uint(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
// Rounded by themselves: never part of a multiply-add.
inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline float __fdiv_rn(float a, float b) {
    return a / b;
}
inline double __dadd_rn(double a, double b) {
    return a + b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}
inline float rsqrtf(float x) {
    return 1 / std::sqrt(x);
}

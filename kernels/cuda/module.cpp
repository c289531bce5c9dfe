// The functions that the module exports.
#include <cuda_runtime.h>

#include "kernels/cuda/cuda_module.hpp"
#include "kernels/cuda/cudnn_api.hpp"
#include "kernels/cuda/memory_sources.hpp"
#include "kernels/cuda/status.hpp"

namespace troupe {

namespace {

error no_gpus(cudaError_t status) {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    const auto number = [](int version) {
        return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    };
    if (driver == 0)
        return {errc::usage, "the NVIDIA driver is missing: there is no libcuda.so.1; install it "
                             "to use cuda devices"};
    if (status == cudaErrorInsufficientDriver)
        return {errc::usage, "the NVIDIA driver is too old: it is made for CUDA " + number(driver) +
                                 ", and this build needs " + number(runtime)};
    if (status == cudaErrorNoDevice)
        return {errc::usage,
                "the GPU is missing: the NVIDIA driver is there, but finds none on this machine"};
    return {errc::usage,
            "the GPUs of this machine cannot be used: " + cuda::failed(status).message()};
}

class module final : public cuda_module {
  public:
    result<std::vector<gpu_info>> gpus() const override {
        int count = 0;
        if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess)
            return no_gpus(status);
        std::vector<gpu_info> all;
        for (int i = 0; i < count; ++i) {
            cudaDeviceProp is{};
            if (const cudaError_t status = cudaGetDeviceProperties(&is, i); status != cudaSuccess)
                return no_gpus(status);
            all.push_back({is.name, is.totalGlobalMem, is.major, is.minor});
        }
        return all;
    }

    std::string cudnn_version() const override {
        const cuda::dnn::functions* const cudnn = cuda::dnn::library();
        if (cudnn == nullptr)
            return {};
        const std::size_t version = cudnn->cudnnGetVersion(); // 92601 for 9.26.1
        return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    }

    result<std::unique_ptr<device>> make_device(const cuda_device_options& options,
                                                const time_source& time) const override {
        return make_cuda_device(options, time);
    }

    std::unique_ptr<memory_source> pinned_memory(unsigned gpu) const override {
        return cuda::pinned_memory(static_cast<int>(gpu));
    }
};

} // namespace

} // namespace troupe

#define TROUPE_EXPORT extern "C" __attribute__((visibility("default")))

TROUPE_EXPORT unsigned troupe_cuda_module_version() {
    return troupe::cuda_module_version;
}

TROUPE_EXPORT troupe::cuda_module* troupe_cuda_module() {
    return new troupe::module;
}

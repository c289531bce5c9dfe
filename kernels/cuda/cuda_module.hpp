// The CUDA back end as a module that is opened at run time, so that one program serves machines with a GPU and without: what
// it offers, and how it is opened. Nothing else of kernels/cuda is known outside.
//
// Threads: thread-safe. What a module made must be gone before the module is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_device.hpp"

namespace troupe {

struct gpu_info {
    std::string name; // "NVIDIA H200"
    std::uint64_t memory_bytes = 0;
    int compute_major = 0, compute_minor = 0; // compute capability
};

class cuda_module {
  public:
    virtual ~cuda_module() = default;

    // errc::usage with a sentence that says whether the driver or the GPU is missing.
    virtual result<std::vector<gpu_info>> gpus() const = 0;

    // The version of cuDNN that convolutions find, as "9.26.0"; empty where there is none.
    virtual std::string cudnn_version() const = 0;

    virtual result<std::unique_ptr<device>> make_device(const cuda_device_options& options,
                                                        const time_source& time) const = 0;

    // Memory of the host, where GPUs copy from and to by themselves, by way of this one: for what comes from the network.
    virtual std::unique_ptr<memory_source> pinned_memory(unsigned gpu) const = 0;
};

// The version of this header and of all types in it: a module of another build is refused.
inline constexpr unsigned cuda_module_version = 5;

// Functions that a module exports, by these names.
using cuda_module_version_function = unsigned();
using cuda_module_function = cuda_module*(); // the caller's
inline constexpr const char* cuda_module_version_symbol = "troupe_cuda_module_version";
inline constexpr const char* cuda_module_symbol = "troupe_cuda_module";

// Opens the module at `path`. errc::usage with a sentence that says what is missing: the module itself, or the libraries of
// the CUDA toolkit that it needs. It closes with its last holder.
result<std::shared_ptr<cuda_module>> open_cuda_module(const std::string& path);

} // namespace troupe

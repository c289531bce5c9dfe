// A CUDA device: one stream that work is put into by one thread, and one that hears from it.
//
// The thread that puts work into the stream runs ahead of the GPU by a few pieces of work; a second one sleeps until the GPU
// has come to the end of the next piece, and calls back. Neither polls, and nothing runs in a callback of the driver. What a
// piece of work holds is let go of when the GPU is through with it.
//
// When the GPU fails it is lost, and all that was asked of it fails with the reason; its node goes on.
#pragma once

#include <memory>

#include "kernels/device/device.hpp"

namespace troupe {

struct cuda_device_options {
    unsigned index = 0; // of the GPU, and of the name "cuda:INDEX"
    std::uint64_t memory_bytes_max =
        0; // bound of the pool of the GPU's memory; 0: nine tenths of what is free
    std::uint64_t host_bytes_max = 4ull
                                   << 30; // bound of the pinned memory for what goes in and out
};

// errc::usage for a GPU that is not there. `time` measures the work and must outlive the device.
result<std::unique_ptr<device>> make_cuda_device(const cuda_device_options& options,
                                                 const time_source& time);

} // namespace troupe

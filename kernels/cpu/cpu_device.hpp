// A CPU device: one thread that computes with the CPU back end, in memory of its own pool.
//
// Parallelism comes from several devices, not from threads inside one operation.
#pragma once

#include <memory>
#include <optional>

#include "kernels/device/device.hpp"

namespace troupe {

struct cpu_device_options {
    unsigned index = 0;                          // of the name "cpu:INDEX"
    std::optional<unsigned> core;                // run on this core only
    std::uint64_t memory_bytes_max = 4ull << 30; // bound of the memory pool
};

// errc::usage for a core that this process may not run on. `time` measures the work and must outlive the device. Memory
// comes from `source`, where it is other than the system's: what GPUs copy from and to.
result<std::unique_ptr<device>> make_cpu_device(const cpu_device_options& options,
                                                const time_source& time,
                                                std::unique_ptr<memory_source> source = nullptr);

} // namespace troupe

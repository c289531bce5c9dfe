// The devices that a node offers according to its command line, and the module that GPUs need.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "actors/run/plan_device.hpp"
#include "kernels/cuda/cuda_module.hpp"
#include "schemas/base/error.hpp"

namespace troupe::cli {

struct device_choice {
    unsigned cpus = 0;
    std::vector<unsigned> gpus; // by their number on this machine

    // "cuda:0", "cpu:0", "cpu:1": GPUs come first where devices are not assigned explicitly
    std::vector<std::string> names() const;
};

// Parses "cpu:2,cuda:0": the number of CPU devices, and the GPUs. errc::usage for anything else.
result<device_choice> parse_devices(const std::string& text);

// The CUDA back end, if these GPUs can be used. errc::usage with a sentence that names the missing part: the module,
// the toolkit's libraries, the driver or the GPU.
result<std::shared_ptr<cuda_module>> open_gpus(const std::vector<unsigned>& gpus);

// A note for people if there are more CPU devices than this machine has cores; else empty.
std::string note_of_cores(std::size_t devices);

// A note for people if the processors among these devices compute with different instruction sets; else empty.
std::string note_of_instruction_sets(std::span<const plan_device> devices);

} // namespace troupe::cli

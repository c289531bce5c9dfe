// Which devices a node offers, as its command line says, and the module that GPUs need.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_module.hpp"
#include "schemas/base/error.hpp"

namespace troupe::cli {

struct device_choice {
    unsigned cpus = 0;
    std::vector<unsigned> gpus; // by their number on this machine

    // "cuda:0", "cpu:0", "cpu:1": GPUs come first wherever nobody says which device does what
    std::vector<std::string> names() const;
};

// "cpu:2,cuda:0": so many CPU devices, and these GPUs. errc::usage for anything else.
result<device_choice> parse_devices(const std::string& text);

// The CUDA back end, if these GPUs can be used. errc::usage with a sentence that says what is missing for it: the module,
// the toolkit's libraries, the driver or the GPU.
result<std::shared_ptr<cuda_module>> open_gpus(const std::vector<unsigned>& gpus);

// For people: that so many CPU devices are more than this machine has cores. Empty if they are not.
std::string note_of_cores(std::size_t devices);

} // namespace troupe::cli

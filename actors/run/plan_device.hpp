// Devices that a run may use.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/base/ids.hpp"

namespace troupe {

struct plan_device {
    node_id node;
    std::string node_name;
    std::string device;             // "cpu:0"
    float slow_down = 1;            // how many times as long it takes, as the app file wants
    std::uint64_t memory_bytes = 0; // bound of its pool; 0 where it is not known
    std::string instruction_set{};  // of a processor: "AVX2"; empty where it is not known

    friend bool operator==(const plan_device&, const plan_device&) = default;
};

inline bool is_gpu(const plan_device& d) {
    return d.device.starts_with("cuda:");
}

// "node-0/cpu:0"
inline std::string where_text(const plan_device& d) {
    return d.node_name + "/" + d.device;
}

// Advice for a user where the memory of a device does not suffice: ", or ...", or nothing.
struct memory_advice {
    std::string of_host; // a processor's
    std::string of_gpus;
};

} // namespace troupe

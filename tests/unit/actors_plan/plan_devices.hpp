// A cluster of nodes with a device each.
#pragma once

#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/training_app.hpp"

namespace troupe::test {

inline std::vector<plan_device> devices_of_nodes(std::size_t count) {
    std::vector<plan_device> devices;
    for (std::size_t n = 0; n < count; ++n)
        devices.push_back({node_id{n + 1}, "node-" + std::to_string(n), "cpu:0"});
    return devices;
}

} // namespace troupe::test

#include "actors/training/run_devices.hpp"

#include <algorithm>
#include <utility>

#include "actors/runtime/well_known.hpp"
#include "schemas/base/check.hpp"

namespace troupe {

run_devices::run_devices(std::vector<plan_device> devices) : devices_{std::move(devices)} {
    TROUPE_CHECK(!devices_.empty(), "a run has devices");
}

bool run_devices::has_agent(actor_address who) const {
    return who.actor == well_known::agent &&
           std::ranges::count(devices_, who.node, &plan_device::node) > 0;
}

actor_address run_devices::profiler() const {
    return {measured().node, well_known::profiler};
}

void run_devices::join(proto::Member::Reader member) {
    for (const auto device : member.getDevices())
        devices_.push_back({.node = node_id{member.getNode()},
                            .node_name = member.getName().cStr(),
                            .device = device.getName().cStr()});
}

std::vector<plan_device> run_devices::free(const std::vector<plan_device>& used) const {
    std::vector<plan_device> found;
    for (const plan_device& d : devices_) {
        const auto is_same = [&](const plan_device& u) { // whatever slow_down it has there
            return u.node == d.node && u.device == d.device;
        };
        if (!lost_.contains(d.node) && std::ranges::none_of(used, is_same))
            found.push_back(d);
    }
    return found;
}

} // namespace troupe

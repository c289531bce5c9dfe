// Devices for the actors of a run, at first and when one is lost. A pure value.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "actors/run/plan_device.hpp"

namespace troupe::scheduled {

class device_choice {
  public:
    explicit device_choice(std::vector<plan_device> devices) : devices_{std::move(devices)} {}

    void lose(node_id node) { lost_.insert(node); }

    // The first device that carries the fewest of those in use, on nodes that are there; none if no node is left.
    std::optional<plan_device> choose(const std::vector<plan_device>& in_use) const {
        std::optional<plan_device> best;
        std::ptrdiff_t least = 0;
        for (const plan_device& d : devices_) {
            if (lost_.contains(d.node))
                continue;
            const auto load = std::ranges::count(in_use, d);
            if (best && load >= least)
                continue;
            best = d;
            least = load;
        }
        return best;
    }

  private:
    std::vector<plan_device> devices_;
    std::set<node_id> lost_;
};

} // namespace troupe::scheduled

// The devices that a run may use: those that it began with, and those of nodes that have joined since. A pure value.
#pragma once

#include <set>
#include <vector>

#include "actors/run/plan_device.hpp"
#include "schemas/cluster.capnp.h"

namespace troupe {

class run_devices {
  public:
    explicit run_devices(std::vector<plan_device> devices); // not empty

    const std::vector<plan_device>& all() const noexcept { return devices_; } // lost ones included
    bool has_agent(actor_address who) const; // `who` is the agent of a node that the run may use
    // The device on which layers are measured, and who measures them.
    const plan_device& measured() const { return devices_.front(); }
    actor_address profiler() const;

    void join(proto::Member::Reader member);
    void lose(node_id node) { lost_.insert(node); } // no lost replica's place is taken there
    // The devices on nodes that are not lost, without those in use.
    std::vector<plan_device> free(const std::vector<plan_device>& used) const;

  private:
    std::vector<plan_device> devices_;
    std::set<node_id> lost_;
};

} // namespace troupe

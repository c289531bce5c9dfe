// A device that takes several times as long for its work as the one that it stands for, by waiting behind each piece. For
// seeing what a straggler does to the others; it uses no more of the processor than the device itself.
//
// Threads: as of the device that it stands for, on whose thread it waits. Where time is modelled, it lasts longer instead.
#pragma once

#include <memory>

#include "kernels/device/device.hpp"

namespace troupe {

// `factor` is at least 1. The time source must outlive the device.
std::shared_ptr<device> slow_down(std::shared_ptr<device> real, double factor,
                                  const time_source& time);

} // namespace troupe

// How a stage's tensors get to its neighbours: what a device with a memory of its own has computed
// stays there for a colocated stage, and is copied to the host's memory, or to where the network
// reads it on the device, for others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "actors/pipeline/crossing_numbers.hpp"
#include "actors/runtime/node_runtime.hpp"
#include "kernels/device/device.hpp"

namespace troupe {

enum class tensor_route : std::uint8_t {
    colocated,  // computed on the same device
    by_network, // of nodes that all take memory of GPUs
    by_host,
};

// To these replicas of a neighbouring stage.
tensor_route route_to(const std::vector<actor_address>& stage, bool is_colocated,
                      const std::vector<peer_info>& peers);

// Puts what goes such a route where whoever takes it can read it, at the end of the work that made
// it; in this form (null: as it is).
result<void> export_tensors(compute_context& context, std::span<tensor> all, tensor_route route,
                            const number_form* form);

// A stage's neighbours in both directions.
struct stage_routes {
    tensor_route to_previous = tensor_route::by_host, to_next = tensor_route::by_host;
    // What comes from the stages before and behind this one while it trains; null: as it is.
    std::shared_ptr<const crossing_numbers> from_previous, from_next;
};

} // namespace troupe

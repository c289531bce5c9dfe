// How a stage's tensors get to its neighbours: what a device with a memory of its own has computed
// stays there for a colocated stage, and is copied to the host's memory for others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "actors/pipeline/crossing_numbers.hpp"
#include "kernels/device/device.hpp"

namespace troupe {

enum class tensor_route : std::uint8_t {
    colocated, // computed on the same device
    by_host,
};

// Puts what goes such a route where whoever takes it can read it, at the end of the work that made
// it; in this form (null: as it is).
inline result<void> export_tensors(compute_context& context, std::span<tensor> all,
                                   tensor_route route, const number_form* form) {
    if (auto encoded = encode_numbers(context, form, all); !encoded)
        return encoded;
    return route == tensor_route::colocated ? result<void>{} : take_out(context, all);
}

// A stage's neighbours in both directions.
struct stage_routes {
    tensor_route to_previous = tensor_route::by_host, to_next = tensor_route::by_host;
    // What comes from the stages before and behind this one while it trains; null: as it is.
    std::shared_ptr<const crossing_numbers> from_previous, from_next;
};

} // namespace troupe

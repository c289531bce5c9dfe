// The routes of a stage's tensors to its neighbours: tensors that a device with its own memory has
// computed stay there for a colocated stage, and are copied to host memory for others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "actors/pipeline/shape/crossing_numbers.hpp"
#include "kernels/device/device.hpp"

namespace troupe {

enum class tensor_route : std::uint8_t {
    colocated, // computed on the same device
    by_host,
};

// The last step of the device work that made these tensors: encodes them in this form (null: not at
// all), and puts them where the receiver at the end of this route can read them.
inline result<void> export_tensors(compute_context& context, std::span<tensor> all,
                                   tensor_route route, const number_form* form) {
    if (auto encoded = encode_numbers(context, form, all); !encoded)
        return encoded;
    return route == tensor_route::colocated ? result<void>{} : copy_to_host(context, all);
}

// A stage's neighbours in both directions.
struct stage_routes {
    tensor_route to_previous = tensor_route::by_host, to_next = tensor_route::by_host;
    // Encoding of the tensors that the previous and the next stage send in training; null: none.
    std::shared_ptr<const crossing_numbers> from_previous, from_next;
};

} // namespace troupe

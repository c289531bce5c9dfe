// The form of payloads, which are sent in place of gradients or other tensors, and decoded.
//
// A payload comes from the network. decode() reads one that check() has passed without leaving its operands, and refuses it
// by errc::protocol if no sender makes it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

class payload_form {
  public:
    virtual ~payload_form() = default;

    // Bytes of a payload for this shape: the same for all tensors, or the most.
    virtual std::uint64_t payload_bytes(const tensor_shape& shape) const = 0;
    // Checks that a payload has the type and a size of payloads for this shape.
    virtual result<void> check(const tensor_shape& shape, const tensor& payload) const = 0;
    // output = addend + factor * D(payload), or without an addend; output may be the addend. check() must have passed.
    virtual result<void> decode(compute_context& context, const tensor& payload, float factor,
                                const tensor* addend, tensor& output) const = 0;
};

using payload_form_ptr = std::shared_ptr<const payload_form>;
// Forms by tensor; null: it is sent as float32.
using payload_forms = std::vector<payload_form_ptr>;

// A new tensor with D(payload). errc::protocol for a payload that no sender makes.
result<tensor> decoded(compute_context& context, const payload_form& how, const tensor_shape& shape,
                       const tensor& payload);

} // namespace troupe

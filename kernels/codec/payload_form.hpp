// What is sent in place of a gradient, and back.
//
// A payload comes from the network. What check() takes, decode() reads without leaving its operands, and refuses where no
// sender makes it, by errc::protocol.
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

    // Bytes of a tensor's payload: the same for every gradient, or at most.
    virtual std::uint64_t payload_bytes(const tensor_shape& shape) const = 0;
    // Whether a payload has a type and size that a tensor of this shape can have.
    virtual result<void> check(const tensor_shape& shape, const tensor& payload) const = 0;
    // output = addend + factor * D(payload), or without an addend; output may be the addend. For what check() takes.
    virtual result<void> decode(compute_context& context, const tensor& payload, float factor,
                                const tensor* addend, tensor& output) const = 0;
};

using payload_form_ptr = std::shared_ptr<const payload_form>;
// By tensor; null: it is sent as it is.
using payload_forms = std::vector<payload_form_ptr>;

// A new tensor with D(payload). errc::protocol for what no sender makes.
result<tensor> decoded(compute_context& context, const payload_form& how, const tensor_shape& shape,
                       const tensor& payload);

} // namespace troupe

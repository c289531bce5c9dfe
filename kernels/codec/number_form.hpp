// How numbers that are no gradients are sent, activations and weights: as they are, or rounded to the nearest.
//
// A form keeps nothing and draws nothing by lot: the same numbers have the same payload, and what is decoded has it again.
// Both ends compute on a device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/codec/payload_form.hpp"
#include "schemas/topology.capnp.h"

namespace troupe {

class number_form : public payload_form {
  public:
    virtual std::string_view name() const noexcept = 0; // its key in an app file

    virtual result<tensor> encode(compute_context& context, const tensor& numbers) const = 0;
};

// Null: as they are.
using number_form_ptr = std::shared_ptr<const number_form>;

// Nothing for a form that this build does not know. check() reads int8's norms in host memory alone: elsewhere one that is
// NaN is decoded to NaN.
std::optional<number_form_ptr> make_number_form(proto::NumberForm form);

// Each float32 tensor's payload in its place; nothing where there is no form.
result<void> encode_numbers(compute_context& context, const number_form* form,
                            std::span<tensor> all);

// Whether these can be payloads of float32 tensors of these shapes, as check() says of each.
result<void> check_numbers(const number_form& form, std::span<const tensor_shape> shapes,
                           std::span<const tensor> payloads);
// In place of payloads that fit: their numbers.
result<void> decode_numbers(compute_context& context, const number_form& form,
                            std::span<const tensor_shape> shapes, std::span<tensor> payloads);

} // namespace troupe

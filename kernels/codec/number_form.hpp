// The forms in which activations and weights are sent, unlike gradients: float32, or rounded to the nearest.
//
// A form has no state and no random numbers: equal numbers have equal payloads, and so have decoded numbers. Both ends
// compute on a device.
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

// null: float32.
using number_form_ptr = std::shared_ptr<const number_form>;

// nullopt for a form that this build does not know. check() reads the norms of int8 only in host memory: in other memory a
// norm that is NaN is decoded to NaN.
std::optional<number_form_ptr> make_number_form(proto::NumberForm form);

// Replaces each float32 tensor by its payload; does nothing if `form` is null.
result<void> encode_numbers(compute_context& context, const number_form* form,
                            std::span<tensor> all);

// Checks that these can be payloads of float32 tensors of these shapes, by check() of each.
result<void> check_numbers(const number_form& form, std::span<const tensor_shape> shapes,
                           std::span<const tensor> payloads);
// Replaces payloads that have been checked by their numbers.
result<void> decode_numbers(compute_context& context, const number_form& form,
                            std::span<const tensor_shape> shapes, std::span<tensor> payloads);

} // namespace troupe

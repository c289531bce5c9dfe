// Parts that the checks of decoders share; for the files beside this one.
#pragma once

#include "kernels/ops/codecs.hpp"
#include "kernels/ops/operand_check.hpp"

namespace troupe {

inline result<void> check_decode(operand_check& check, const decode_operands& o,
                                 const tensor_shape& payload) {
    check.is("payload", o.payload, payload, data_type::uint8)
        .is("output", o.output, o.output.shape());
    if (o.addend != nullptr)
        check.is("addend", *o.addend, o.output.shape());
    return check.outcome();
}

// Checks a payload that has as many elements of so many bytes as fit.
inline operand_check& check_elements(operand_check& check, const tensor& payload,
                                     std::size_t element_bytes, std::size_t elements) {
    return check.is("payload", payload, {payload.shape().elements()}, data_type::uint8)
        .require(payload.bytes() % element_bytes == 0, "the payload has no whole elements")
        .require(payload.bytes() / element_bytes <= elements,
                 "the payload has more elements than the tensor");
}

} // namespace troupe

// Functions that the codecs share, for the files of this folder.
#pragma once

#include <string>

#include "kernels/codec/codec.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

inline result<tensor> new_bytes(compute_context& context, std::size_t bytes) {
    return tensor::allocate(context.memory, data_type::uint8, {bytes});
}

inline error wrong_payload(const tensor_shape& shape, const tensor& payload) {
    return {errc::protocol, "a payload of " + std::string{to_string(payload.type())} + " " +
                                to_string(payload.shape()) + " is none of a tensor of " +
                                to_string(shape)};
}

// Checks that the payload is a row of `bytes` bytes, or with a `step` of up to `bytes` in multiples of it.
inline result<void> check_row(const tensor_shape& shape, const tensor& payload, std::uint64_t bytes,
                              std::uint64_t step = 0) {
    const bool is_row =
        payload && payload.type() == data_type::uint8 && payload.shape().rank() == 1;
    const std::uint64_t size = is_row ? payload.bytes() : 0;
    const bool fits = step == 0 ? size == bytes : size <= bytes && size % step == 0;
    return is_row && fits ? result<void>{} : wrong_payload(shape, payload);
}

// A float32 tensor of zeros.
inline result<tensor> new_zeros(memory_pool& memory, const tensor_shape& shape) {
    auto zeros = tensor::allocate(memory, data_type::float32, shape);
    if (zeros)
        for (float& x : zeros->mutable_values<float>())
            x = 0;
    return zeros;
}

// A codec without state.
class plain_codec : public codec {
  public:
    result<std::vector<tensor>> first_state(memory_pool&, const tensor_shape&,
                                            const encode_place&) const final {
        return std::vector<tensor>{};
    }
};

} // namespace troupe

// Numbers in the bytes of a payload, at any address, and what may be wrong with payloads; for the back ends.
#pragma once

#include <cstring>
#include <string>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

template <class T>
T read_at(const tensor& payload, std::size_t byte) {
    T value;
    std::memcpy(&value, payload.data() + byte, sizeof value);
    return value;
}

template <class T>
void write_at(tensor& payload, std::size_t byte, T value) {
    std::memcpy(payload.mutable_data() + byte, &value, sizeof value);
}

inline error wrong_level() {
    return {errc::protocol, "a quantized tensor has a level that is none"};
}
inline error wrong_sign_bits() {
    return {errc::protocol, "a row of signs has bits behind its end"};
}
inline error too_few_large(std::size_t found) {
    return {errc::usage,
            "encode_at_least: only " + std::to_string(found) + " elements are large enough"};
}
inline error wrong_count_above(std::size_t found) {
    return {errc::usage,
            "encode_threshold: " + std::to_string(found) + " elements are above the threshold"};
}
inline error wrong_index() {
    return {errc::protocol, "a sparse tensor has an index that is too large or not in order"};
}

} // namespace troupe

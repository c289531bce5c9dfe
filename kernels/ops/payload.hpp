// Numbers in the bytes of a payload, at any address; for the back ends.
#pragma once

#include <cstring>

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

} // namespace troupe

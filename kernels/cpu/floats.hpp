// The elements of a tensor of float32.
#pragma once

#include "kernels/tensor/tensor.hpp"

namespace troupe::cpu {

inline const float* floats(const tensor& t) {
    return t.values<float>().data();
}
inline float* floats(tensor& t) {
    return t.mutable_values<float>().data();
}

} // namespace troupe::cpu

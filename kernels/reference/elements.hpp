#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

/// Element i of a tensor of float32, for the references' arithmetic in float64.
inline double at(const tensor& t, std::size_t i) {
    return double{t.values<float>()[i]};
}

inline void set(tensor& t, std::size_t i, double value) {
    t.mutable_values<float>()[i] = static_cast<float>(value);
}

inline double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

} // namespace troupe

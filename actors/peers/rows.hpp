// Tensors concatenated into one row, and a row split into tensors.
#pragma once

#include <span>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

std::size_t elements_in(std::span<const tensor_shape> shapes) noexcept;

// Returns a copy: float32 of rank 1.
result<tensor> flattened(compute_context& context, std::span<const tensor> parts);

// x + factor * y in new memory.
result<tensor> sum_of(compute_context& context, const tensor& x, float factor, const tensor& y);

// Views of the row in these shapes; they share its memory.
std::vector<tensor> in_shapes(const tensor& row, std::span<const tensor_shape> shapes);

} // namespace troupe

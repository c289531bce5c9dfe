// Operands of attention as the kernels that multiply float32 take them.
#pragma once

#include <vector>

#include "kernels/cuda/attention_parts.hpp"
#include "kernels/ops/precision.hpp"

namespace troupe::cuda {

// Holds what it makes until it goes.
class attention_factors {
  public:
    // `width`: of all heads together.
    attention_factors(execution& run, precision products, std::size_t width)
        : run_{run}, products_{products}, width_{width} {}

    // Where the columns lie, or rounded copies.
    result<sequence_columns<const float>> of(const columns& c);

  private:
    execution& run_;
    const precision products_;
    const std::size_t width_;
    std::vector<buffer_ref> kept_;
};

} // namespace troupe::cuda

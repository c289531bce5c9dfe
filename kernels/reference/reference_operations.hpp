// The class of the reference back end; its methods are in the file of their family.
#pragma once

#include <vector>

#include "kernels/ops/ops.hpp"

namespace troupe {

class reference_operations final : public operations {
  public:
    std::string_view name() const noexcept override { return "reference"; }
    std::size_t channel_block(std::size_t) const noexcept override { return 1; }

  private:
#define TROUPE_DECLARE(name) result<void> compute(const name& op) override;
    TROUPE_OPERATIONS(TROUPE_DECLARE)
#undef TROUPE_DECLARE

    // Memory for the output of a convolution.
    tensor convolved(const conv2d_settings& settings, const tensor& input, const tensor& weight);

    memory_pool scratch_{~std::uint64_t{0}}; // no bound of its own: its callers' cases are small
};

// Sums are taken in double, so that the reference is more exact than what it judges.
inline std::vector<double> zeros(std::size_t count) {
    return std::vector<double>(count, 0.0);
}
void round_into(const std::vector<double>& sums, tensor& output);

// A number as the products take it.
double factor(double x, precision products);

} // namespace troupe

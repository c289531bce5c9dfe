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
    result<void> compute(const linear_forward& op) override;
    result<void> compute(const linear_backward& op) override;
    result<void> compute(const conv2d_forward& op) override;
    result<void> compute(const conv2d_backward& op) override;
    result<void> compute(const max_pool_forward& op) override;
    result<void> compute(const max_pool_backward& op) override;
    result<void> compute(const conv2d_pool_forward& op) override;
    result<void> compute(const conv2d_pool_backward& op) override;
    result<void> compute(const change_block& op) override;
    result<void> compute(const relu_forward& op) override;
    result<void> compute(const relu_backward& op) override;
    result<void> compute(const pointwise_forward& op) override;
    result<void> compute(const pointwise_backward& op) override;
    result<void> compute(const swiglu_forward& op) override;
    result<void> compute(const swiglu_backward& op) override;
    result<void> compute(const add_scaled& op) override;
    result<void> compute(const fill& op) override;
    result<void> compute(const softmax_cross_entropy& op) override;
    result<void> compute(const sgd_update& op) override;
    result<void> compute(const adagrad_update& op) override;
    result<void> compute(const rmsprop_update& op) override;
    result<void> compute(const adadelta_update& op) override;
    result<void> compute(const adam_update& op) override;
    result<void> compute(const lamb_direction& op) override;
    result<void> compute(const sum_of_squares& op) override;
    result<void> compute(const clip& op) override;

    // Memory for the output of a convolution.
    tensor convolved(const conv2d_settings& settings, const tensor& input, const tensor& weight);

    memory_pool scratch_{~std::uint64_t{0}}; // no bound of its own: its callers' cases are small
};

// Sums are taken in double, so that the reference is more exact than what it judges.
inline std::vector<double> zeros(std::size_t count) {
    return std::vector<double>(count, 0.0);
}
void round_into(const std::vector<double>& sums, tensor& output);

} // namespace troupe

// The fast back end for CPUs: oneDNN for convolutions and matrix products, own loops for the rest. One thread. Its methods
// are in the file of their family.
//
// Images whose channels are a multiple of the vector width are kept in blocks of that many channels. Compiled
// convolutions are kept by shape; the first use of a shape takes some milliseconds.
#pragma once

#include <memory>

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace cpu {
class convolution_runner;
struct loops;
struct pointwise_loops;
struct update_loops;
} // namespace cpu

class cpu_operations final : public operations {
  public:
    // Scratch memory comes from `pool`, which must outlive the operations.
    explicit cpu_operations(memory_pool& pool);
    ~cpu_operations() override;

    std::string_view name() const noexcept override { return "cpu"; }
    std::size_t channel_block(std::size_t channels) const noexcept override {
        return channels % block_ == 0 ? block_ : 1;
    }

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

    const std::size_t block_;
    const cpu::loops& loops_;
    const cpu::pointwise_loops& pointwise_loops_;
    const cpu::update_loops& update_loops_;
    const std::unique_ptr<cpu::convolution_runner> convolutions_;
};

std::unique_ptr<operations> make_cpu_operations(memory_pool& pool);

} // namespace troupe

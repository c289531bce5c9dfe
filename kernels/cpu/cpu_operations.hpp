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
struct additive_loops;
struct batch_norm_loops;
class convolution_runner;
struct loops;
struct loss_loops;
struct norm_loops;
struct pointwise_loops;
struct recurrent_loops;
struct response_norm_loops;
struct sequence_loops;
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
#define TROUPE_DECLARE(name) result<void> compute(const name& op) override;
    TROUPE_OPERATIONS(TROUPE_DECLARE)
#undef TROUPE_DECLARE

    memory_pool& pool_;
    const std::size_t block_;
    const cpu::additive_loops& additive_loops_;
    const cpu::batch_norm_loops& batch_norm_loops_;
    const cpu::loops& loops_;
    const cpu::loss_loops& loss_loops_;
    const cpu::norm_loops& norm_loops_;
    const cpu::pointwise_loops& pointwise_loops_;
    const cpu::recurrent_loops& recurrent_loops_;
    const cpu::response_norm_loops& response_norm_loops_;
    const cpu::sequence_loops& sequence_loops_;
    const cpu::update_loops& update_loops_;
    const std::unique_ptr<cpu::convolution_runner> convolutions_;
};

std::unique_ptr<operations> make_cpu_operations(memory_pool& pool);

} // namespace troupe

// The fast back end for CPUs: oneDNN for convolutions and matrix products, own loops for the rest. One thread. Its methods
// are in the file of their family.
//
// Images whose channels are a multiple of the vector width are kept in blocks of that many channels. Compiled
// convolutions are kept by shape; the first use of a shape takes some milliseconds.
#pragma once

#include <memory>

#include "kernels/ops/ops.hpp"

namespace troupe {

// The tables of loops that are compiled once per instruction set, one line each.
#define TROUPE_LOOP_TABLES(X)                                                                      \
    X(additive_loops)                                                                              \
    X(attention_back_loops)                                                                        \
    X(attention_loops)                                                                             \
    X(average_pool_loops)                                                                          \
    X(batch_norm_loops)                                                                            \
    X(codec_loops)                                                                                 \
    X(few_channels_loops)                                                                          \
    X(gradient_loops)                                                                              \
    X(loops)                                                                                       \
    X(loss_loops)                                                                                  \
    X(norm_loops)                                                                                  \
    X(pointwise_loops)                                                                             \
    X(product_loops)                                                                               \
    X(recurrent_loops)                                                                             \
    X(response_norm_loops)                                                                         \
    X(sequence_loops)                                                                              \
    X(sparse_loops)                                                                                \
    X(tour_loops)                                                                                  \
    X(update_loops)                                                                                \
    X(winograd_loops)

namespace cpu {
class convolution_runner;
struct bf16_loops;
#define TROUPE_DECLARE(table) struct table;
TROUPE_LOOP_TABLES(TROUPE_DECLARE)
#undef TROUPE_DECLARE
} // namespace cpu

class cpu_operations final : public operations {
  public:
    // Scratch memory comes from `pool`, which must outlive the operations. `bf16_dot_products`: see convolution_runner.
    cpu_operations(memory_pool& pool, bool bf16_dot_products);
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
#define TROUPE_DECLARE(table) const cpu::table& table##_;
    TROUPE_LOOP_TABLES(TROUPE_DECLARE)
#undef TROUPE_DECLARE
    const cpu::bf16_loops& bf16_loops_;
    const std::unique_ptr<cpu::convolution_runner> convolutions_;
};

// True if this machine multiplies bfloat16 faster than float32.
bool cpu_is_faster_in_bf16() noexcept;

std::unique_ptr<operations> make_cpu_operations(memory_pool& pool,
                                                bool bf16_dot_products = cpu_is_faster_in_bf16());

} // namespace troupe

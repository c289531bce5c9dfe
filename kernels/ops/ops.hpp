// The list of operations: all that layers, optimizers and ant colonies compute. A back end computes every one of them; that
// of GPUs refuses those of ant colonies (tours.hpp) with errc::usage.
//
// An operation is a struct of its operands, which says what it computes, their shapes, and whether they fit (check).
// Outputs are allocated by the caller and overwritten whole; what they held before (NaN, too) does not matter.
//
//     context.ops.run(linear_forward{.input = x, .weight = w, .bias = &b, .output = y});
//
// Threads: one at a time. Results depend on operands only: not on thread, address, time or earlier calls. Errors:
// errc::usage for shapes that do not fit together, errc::exhausted for memory, errc::data for bad labels,
// errc::protocol for payloads that no encoder makes.
#pragma once

#include <string_view>

#include "kernels/ops/additive_attention.hpp"
#include "kernels/ops/codecs.hpp"
#include "kernels/ops/dropout.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/gradients.hpp"
#include "kernels/ops/image_norms.hpp"
#include "kernels/ops/images.hpp"
#include "kernels/ops/linear.hpp"
#include "kernels/ops/losses.hpp"
#include "kernels/ops/norms.hpp"
#include "kernels/ops/products.hpp"
#include "kernels/ops/recurrent.hpp"
#include "kernels/ops/sequences.hpp"
#include "kernels/ops/shapes.hpp"
#include "kernels/ops/sparse.hpp"
#include "kernels/ops/tours.hpp"
#include "kernels/ops/updates.hpp"

namespace troupe {

// The list itself, one line per operation: X(name of its struct).
#define TROUPE_OPERATIONS(X)                                                                       \
    X(linear_forward)                                                                              \
    X(linear_backward)                                                                             \
    X(conv2d_forward)                                                                              \
    X(conv2d_backward)                                                                             \
    X(max_pool_forward)                                                                            \
    X(max_pool_backward)                                                                           \
    X(average_pool_forward)                                                                        \
    X(average_pool_backward)                                                                       \
    X(conv2d_pool_forward)                                                                         \
    X(conv2d_pool_backward)                                                                        \
    X(change_block)                                                                                \
    X(pointwise_forward)                                                                           \
    X(pointwise_backward)                                                                          \
    X(swiglu_forward)                                                                              \
    X(swiglu_backward)                                                                             \
    X(gru_forward)                                                                                 \
    X(gru_backward)                                                                                \
    X(lstm_forward)                                                                                \
    X(lstm_backward)                                                                               \
    X(additive_attention_forward)                                                                  \
    X(additive_attention_backward)                                                                 \
    X(attention_gru_forward)                                                                       \
    X(attention_gru_backward)                                                                      \
    X(add_scaled)                                                                                  \
    X(fill)                                                                                        \
    X(batch_norm_forward)                                                                          \
    X(batch_norm_inference)                                                                        \
    X(batch_norm_backward)                                                                         \
    X(local_response_norm_forward)                                                                 \
    X(local_response_norm_backward)                                                                \
    X(layer_norm_forward)                                                                          \
    X(layer_norm_backward)                                                                         \
    X(rms_norm_forward)                                                                            \
    X(rms_norm_backward)                                                                           \
    X(dropout)                                                                                     \
    X(embedding_forward)                                                                           \
    X(embedding_backward)                                                                          \
    X(add_to_samples)                                                                              \
    X(sum_of_samples)                                                                              \
    X(sequence_lengths)                                                                            \
    X(softmax_forward)                                                                             \
    X(softmax_backward)                                                                            \
    X(attention_forward)                                                                           \
    X(attention_backward)                                                                          \
    X(concat)                                                                                      \
    X(split)                                                                                       \
    X(transfer)                                                                                    \
    X(softmax_cross_entropy)                                                                       \
    X(mean_squared_error)                                                                          \
    X(sgd_update)                                                                                  \
    X(adagrad_update)                                                                              \
    X(rmsprop_update)                                                                              \
    X(adadelta_update)                                                                             \
    X(adam_update)                                                                                 \
    X(lamb_direction)                                                                              \
    X(sum_of_squares)                                                                              \
    X(scale)                                                                                       \
    X(clip)                                                                                        \
    X(compensate_delay)                                                                            \
    X(trimmed_mean)                                                                                \
    X(largest_difference)                                                                          \
    X(encode_half)                                                                                 \
    X(decode_half)                                                                                 \
    X(quantize)                                                                                    \
    X(dequantize)                                                                                  \
    X(encode_signs)                                                                                \
    X(decode_signs)                                                                                \
    X(nth_magnitude)                                                                               \
    X(count_at_least)                                                                              \
    X(encode_top)                                                                                  \
    X(encode_at_least)                                                                             \
    X(decode_sparse)                                                                               \
    X(clear_at)                                                                                    \
    X(encode_threshold)                                                                            \
    X(decode_threshold)                                                                            \
    X(momentum_correction)                                                                         \
    X(matrix_multiply)                                                                             \
    X(orthonormalize_rows)                                                                         \
    X(construct_tours)                                                                             \
    X(update_trails)

class operations {
  public:
    virtual ~operations() = default;

    virtual std::string_view name() const noexcept = 0;

    // The channel block in which this back end computes images of so many channels fastest; divides `channels`.
    virtual std::size_t channel_block(std::size_t channels) const noexcept = 0;

    // Until all that was asked for is computed: a back end may still be at it when run() returns, and then its errors come
    // here. Whoever reads results outside the device's work, or measures, waits first.
    virtual result<void> wait() { return {}; }

    template <class Operation>
    result<void> run(const Operation& operation) {
        if (auto fits = operation.check(); !fits)
            return fits;
        return compute(operation);
    }

  private:
    // May rely on check().
#define TROUPE_DECLARE(name) virtual result<void> compute(const name& op) = 0;
    TROUPE_OPERATIONS(TROUPE_DECLARE)
#undef TROUPE_DECLARE
};

} // namespace troupe

// The list of operations: all that layers and optimizers compute. A back end computes every one of them.
//
// An operation is a struct of its operands, which says what it computes, their shapes, and whether they fit (check).
// Outputs are allocated by the caller and overwritten whole; what they held before (NaN, too) does not matter.
//
//     context.ops.run(linear_forward{.input = x, .weight = w, .bias = b, .output = y});
//
// Threads: one at a time. Results depend on operands only: not on thread, address, time or earlier calls. Errors:
// errc::usage for shapes that do not fit together, errc::exhausted for memory, errc::data for bad labels.
#pragma once

#include <string_view>

#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/images.hpp"
#include "kernels/ops/linear.hpp"
#include "kernels/ops/losses.hpp"
#include "kernels/ops/updates.hpp"

namespace troupe {

class operations {
  public:
    virtual ~operations() = default;

    virtual std::string_view name() const noexcept = 0;

    // The channel block in which this back end computes images of so many channels fastest; divides `channels`.
    virtual std::size_t channel_block(std::size_t channels) const noexcept = 0;

    template <class Operation>
    result<void> run(const Operation& operation) {
        if (auto fits = operation.check(); !fits)
            return fits;
        return compute(operation);
    }

  private:
    // May rely on check().
    virtual result<void> compute(const linear_forward& op) = 0;
    virtual result<void> compute(const linear_backward& op) = 0;
    virtual result<void> compute(const conv2d_forward& op) = 0;
    virtual result<void> compute(const conv2d_backward& op) = 0;
    virtual result<void> compute(const max_pool_forward& op) = 0;
    virtual result<void> compute(const max_pool_backward& op) = 0;
    virtual result<void> compute(const conv2d_pool_forward& op) = 0;
    virtual result<void> compute(const conv2d_pool_backward& op) = 0;
    virtual result<void> compute(const change_block& op) = 0;
    virtual result<void> compute(const relu_forward& op) = 0;
    virtual result<void> compute(const relu_backward& op) = 0;
    virtual result<void> compute(const pointwise_forward& op) = 0;
    virtual result<void> compute(const pointwise_backward& op) = 0;
    virtual result<void> compute(const swiglu_forward& op) = 0;
    virtual result<void> compute(const swiglu_backward& op) = 0;
    virtual result<void> compute(const add_scaled& op) = 0;
    virtual result<void> compute(const fill& op) = 0;
    virtual result<void> compute(const softmax_cross_entropy& op) = 0;
    virtual result<void> compute(const sgd_update& op) = 0;
    virtual result<void> compute(const adagrad_update& op) = 0;
    virtual result<void> compute(const rmsprop_update& op) = 0;
    virtual result<void> compute(const adadelta_update& op) = 0;
    virtual result<void> compute(const adam_update& op) = 0;
    virtual result<void> compute(const lamb_direction& op) = 0;
    virtual result<void> compute(const sum_of_squares& op) = 0;
    virtual result<void> compute(const clip& op) = 0;
};

} // namespace troupe

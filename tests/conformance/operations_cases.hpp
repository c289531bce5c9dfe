// The cases of every operation, one row each. A row drives the comparison of all back ends with the reference, the
// check of gradients by finite differences, and the timing in tests/bench/bench_operations.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe::test {

// A case with its operands laid out as a back end likes them. Outputs are full of NaN before they are computed.
struct prepared_case {
    std::function<result<void>()> forward;
    std::function<result<void>()> backward;       // empty where the operation has none
    std::function<std::vector<tensor>()> outputs; // row-major; the first is the differentiable one
    std::function<std::vector<tensor>()> gradients; // row-major; one per input
};

class operation_case {
  public:
    virtual ~operation_case() = default;

    virtual std::string name() const = 0; // "conv2d 8x3x9x7 to 5, kernel 3"
    virtual std::vector<tensor_shape> input_shapes() const = 0;
    virtual tensor_shape output_shape() const = 0;
    virtual double forward_flops() const = 0;
    virtual double backward_flops() const { return 2 * forward_flops(); }
    // Of the operands that are as large as the images, for operations that do little but move memory; otherwise 0.
    virtual double forward_bytes() const { return 0; }
    virtual double backward_bytes() const { return 0; }
    // Operands beside the inputs: labels, targets.
    virtual std::vector<tensor> constants(compute_context&) const { return {}; }
    // Numbers are rounded before they are multiplied.
    virtual bool is_rounded() const { return false; }
    // How far a result may be off, as a share of the largest.
    virtual float tolerance() const { return 2e-5f; }
    // The back end of GPUs refuses it.
    virtual bool has_no_gpu_form() const { return false; }
    // Inputs must be further apart than the steps of a finite difference: the operation has kinks.
    virtual bool has_kinks() const { return false; }

    virtual prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                                  const tensor& output_gradient) const = 0;
};

// Odd shapes, short batches, strides and paddings; all small. With TROUPE_CASES in the environment those whose names begin
// with it, or with one of several beginnings with ; in between.
std::vector<std::unique_ptr<operation_case>> operation_cases();

// The shapes of the network in apps/fashion_mnist, for timing.
std::vector<std::unique_ptr<operation_case>> timed_cases(std::size_t batch);

} // namespace troupe::test

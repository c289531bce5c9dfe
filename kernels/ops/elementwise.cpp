#include "kernels/ops/elementwise.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

result<void> pointwise_forward::check() const {
    return operand_check{"pointwise_forward"}
        .is("input", input, input.shape())
        .is("output", output, input.shape())
        .outcome();
}

result<void> pointwise_backward::check() const {
    return operand_check{"pointwise_backward"}
        .is(keeps_output(function) ? "output" : "input", kept, kept.shape())
        .is("output_gradient", output_gradient, kept.shape())
        .is("input_gradient", input_gradient, kept.shape())
        .outcome();
}

result<void> swiglu_forward::check() const {
    return operand_check{"swiglu_forward"}
        .is("gate", gate, gate.shape())
        .is("up", up, gate.shape())
        .is("output", output, gate.shape())
        .outcome();
}

result<void> swiglu_backward::check() const {
    return operand_check{"swiglu_backward"}
        .is("gate", gate, gate.shape())
        .is("up", up, gate.shape())
        .is("output_gradient", output_gradient, gate.shape())
        .is("gate_gradient", gate_gradient, gate.shape())
        .is("up_gradient", up_gradient, gate.shape())
        .outcome();
}

result<void> add_scaled::check() const {
    return operand_check{"add_scaled"}
        .is("x", x, x.shape())
        .is("y", y, x.shape())
        .is("sum", sum, x.shape())
        .outcome();
}

result<void> fill::check() const {
    return operand_check{"fill"}.is("output", output, output.shape()).outcome();
}

} // namespace troupe

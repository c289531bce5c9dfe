#include "kernels/ops/elementwise.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

result<void> relu_forward::check() const {
    return operand_check{"relu_forward"}
        .is("input", input, input.shape())
        .is("output", output, input.shape())
        .outcome();
}

result<void> relu_backward::check() const {
    return operand_check{"relu_backward"}
        .is("output", output, output.shape())
        .is("output_gradient", output_gradient, output.shape())
        .is("input_gradient", input_gradient, output.shape())
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

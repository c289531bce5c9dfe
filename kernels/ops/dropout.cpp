#include "kernels/ops/dropout.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

result<void> dropout::check() const {
    return operand_check{"dropout"}
        .require(input.shape().rank() > 0, "the input has no rows")
        .is("input", input, input.shape())
        .is("output", output, input.shape())
        .require(probability >= 0 && probability < 1, "the probability is not in [0, 1)")
        .outcome();
}

} // namespace troupe

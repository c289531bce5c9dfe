#include "kernels/ops/products.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

result<void> matrix_multiply::check() const {
    operand_check check{"matrix_multiply"};
    check.is("left", left.values, left.values.shape())
        .is("right", right.values, right.values.shape())
        .rank("left", left.values, 2)
        .rank("right", right.values, 2);
    if (!check.ok())
        return check.outcome();
    const tensor_shape shape{left.rows(), right.columns()};
    check
        .require(left.columns() == right.rows(),
                 "the columns of the left are not the rows of the right")
        .is("output", output, shape);
    if (addend != nullptr)
        check.is("addend", *addend, shape);
    return check.outcome();
}

result<void> orthonormalize_rows::check() const {
    return operand_check{"orthonormalize_rows"}
        .is("input", input, input.shape())
        .rank("input", input, 2)
        .is("output", output, input.shape())
        .outcome();
}

} // namespace troupe

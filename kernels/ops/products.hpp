// Products of matrices that are no layer's, and rows at right angles: what gradients of low rank are made of.
#pragma once

#include "kernels/tensor/tensor.hpp"

namespace troupe {

struct matrix_operand {
    const tensor& values; // two axes
    bool transposed = false;

    std::size_t rows() const noexcept { return values.shape()[transposed ? 1 : 0]; }
    std::size_t columns() const noexcept { return values.shape()[transposed ? 0 : 1]; }
};

// output = addend + factor * left right, without the addend where there is none. Output may be the addend.
struct matrix_multiply {
    matrix_operand left;
    matrix_operand right;
    float factor;
    const tensor* addend;
    tensor& output;

    result<void> check() const;
};

// The rows of output are those of input made orthonormal, one after the other (modified Gram-Schmidt). A row of which less
// than 1e-5 of its length is left, or which had none, becomes 0. Output may be input.
struct orthonormalize_rows {
    const tensor& input;
    tensor& output;

    result<void> check() const;
};

} // namespace troupe

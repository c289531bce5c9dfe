// Matrix products for which oneDNN's sgemm is slow: where a result is too small for it to copy the factors, its kernels for
// AVX2 read a transposed left factor column by column, and where rows are a multiple of 2 KB apart all of these numbers
// compete for the same places of the first-level cache. Gradients of weights are such products: of layers with 512, 1024 or
// more outputs, and made anew from sufficient factors. Compiled once per instruction set; the bits depend on it, as those of
// oneDNN's products do.
//
// The factors are packed. Sums run over k in a fixed order, in pieces of equal length.
// Threads: any.
// Source: K. Goto, R. van de Geijn: Anatomy of High-Performance Matrix Multiplication, 2008.
#pragma once

#include <cstddef>

#include "kernels/cpu/matrix_product.hpp"

namespace troupe::cpu {

struct product_loops {
    // Where these are faster than oneDNN on such a machine, as measured. Of `a` transposed, `b` not, beta 0 or 1.
    bool (*suits)(const matrix_product& product);
    // Floats of the workspace of any product, which must begin at a multiple of 64 bytes.
    std::size_t workspace_floats;
    // `a` must be transposed, `b` not, beta 0 or 1.
    void (*multiply)(const matrix_product& product, float* workspace);
};

extern const product_loops product_loops_baseline;
extern const product_loops product_loops_avx2;
extern const product_loops product_loops_avx512;

} // namespace troupe::cpu

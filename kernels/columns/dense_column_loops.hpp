// The loops of dense columns in float64, compiled once per instruction set as those of kernels/cpu/loops.hpp and under the
// same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>

#include "kernels/columns/column_list.hpp"

namespace troupe::columns {

// Column j begins at first[j * stride]. Behind its last row there are zeros up to a multiple of 16 rows.
struct dense_view {
    const float* first;
    std::size_t stride;
    std::size_t rows;
};

// A block of rows, one after the other, and where their values go: that of row i and column j to to[j * stride + i].
struct rows_to_place {
    const float* from;
    std::size_t rows, columns;
    float* to;
    std::size_t stride;
};

struct dense_column_loops {
    void (*products)(const dense_view& x, const column_list& set, const double* r,
                     double* products);
    void (*add)(const dense_view& x, const column_list& set, const double* coefficients, double* r);
    void (*squares)(const dense_view& x, const column_list& set, double* squares);
    void (*sums)(const dense_view& x, const column_list& set, double* sums);
    // False if some value is infinite or NaN; then not all are placed.
    bool (*place)(const rows_to_place& block);
};

extern const dense_column_loops dense_column_loops_baseline;
extern const dense_column_loops dense_column_loops_avx2;
extern const dense_column_loops dense_column_loops_avx512;

} // namespace troupe::columns

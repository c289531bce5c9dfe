// The loops of sparse columns in float64, compiled once per instruction set as those of kernels/cpu/loops.hpp and under the
// same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/columns/column_list.hpp"

namespace troupe::columns {

// Rows of a matrix whose entries have their row numbers in two bytes.
constexpr std::size_t short_rows_max = 1u << 16;

// Column j has the entries from starts[j] to starts[j + 1], in the order of their rows.
struct sparse_view {
    const std::int64_t* starts;
    const void* row_numbers; // uint16 of at most short_rows_max rows, int32 of more
    const float* values;
    std::size_t rows;
};

// Left columns that are multiplied at a time, and rows.
constexpr std::size_t left_columns_max = 16;
constexpr std::size_t line_rows = 8192;

// The products of a few left columns with right ones. The left ones are scattered into lines, of which each has their
// values in one row; a right column's entry then meets all of them in one line of the cache. A range of rows after the
// other, so that the lines stay in the second-level cache.
struct sparse_gram_task {
    sparse_view x;
    column_list left; // at most left_columns_max
    column_list right;
    float* lines;         // line_rows of left_columns_max floats; zeros before and after
    std::int64_t* places; // one per column of both
    double* sums;         // right.count rows of left_columns_max: the results; unspecified before
};

struct sparse_column_loops {
    void (*products)(const sparse_view& x, const column_list& set, const double* r,
                     double* products);
    void (*add)(const sparse_view& x, const column_list& set, const double* coefficients,
                double* r);
    void (*squares)(const sparse_view& x, const column_list& set, double* squares);
    void (*sums)(const sparse_view& x, const column_list& set, double* sums);
    void (*gram)(const sparse_gram_task& task);
};

extern const sparse_column_loops sparse_column_loops_baseline;
extern const sparse_column_loops sparse_column_loops_avx2;
extern const sparse_column_loops sparse_column_loops_avx512;

} // namespace troupe::columns

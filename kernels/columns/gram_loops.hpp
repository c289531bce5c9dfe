// Products of dense columns with one another, compiled once per instruction set. The bits depend on it, as multiply-adds
// are one instruction where there is one; they do not depend on which other columns are multiplied in the same call.
#pragma once

#include "kernels/columns/dense_column_loops.hpp"

namespace troupe::columns {

struct gram_task {
    dense_view x;
    column_list left, right;
    double* block;       // left.count rows of right.count numbers
    bool upper_suffices; // left and right are the same: numbers below the diagonal may be left at 0
};

struct gram_loops {
    void (*multiply)(const gram_task& task);
};

extern const gram_loops gram_loops_baseline;
extern const gram_loops gram_loops_avx2;
extern const gram_loops gram_loops_avx512;

} // namespace troupe::columns

// Products of row-major float matrices. No inline functions: also for files that are compiled once per instruction set.
#pragma once

#include <cstddef>

namespace troupe::cpu {

// A factor: where its first element lies, how far its rows are apart in memory, and whether it is used transposed.
struct matrix {
    const float* first;
    std::size_t stride;
    bool transposed = false;
};

// c = alpha a b + beta c with a of (m, k), b of (k, n), as they are used, and the rows of c `c_stride` apart.
struct matrix_product {
    std::size_t m, n, k;
    float alpha = 1;
    matrix a, b;
    float beta = 0;
    float* c;
    std::size_t c_stride;

    // Runs oneDNN's sgemm. May throw dnnl::error; see guarded.hpp.
    void run() const;
};

} // namespace troupe::cpu

// Products of row-major float matrices, by oneDNN's sgemm.
#pragma once

#include <cstddef>
#include <dnnl.hpp>

namespace troupe::cpu {

// A factor: where its first element lies, how far its rows are apart in memory, and whether it is used transposed.
struct matrix {
    const float* first;
    std::size_t stride;
    bool transposed = false;
};

// c = alpha a b + beta c with a of (m, k), b of (k, n), as they are used, and the rows of c `c_stride` apart. May throw
// dnnl::error; see guarded.hpp.
struct matrix_product {
    std::size_t m, n, k;
    float alpha = 1;
    matrix a, b;
    float beta = 0;
    float* c;
    std::size_t c_stride;

    void run() const {
        const auto d = [](std::size_t size) { return static_cast<dnnl::memory::dim>(size); };
        const auto status = dnnl::sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', d(m),
                                        d(n), d(k), alpha, a.first, d(a.stride), b.first,
                                        d(b.stride), beta, c, d(c_stride));
        if (status != dnnl::status::success)
            throw dnnl::error(static_cast<dnnl_status_t>(status), "sgemm");
    }
};

} // namespace troupe::cpu

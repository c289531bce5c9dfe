#include "kernels/cpu/matrix_product.hpp"

#include <dnnl.hpp>

namespace troupe::cpu {

void matrix_product::run() const {
    const auto d = [](std::size_t size) { return static_cast<dnnl::memory::dim>(size); };
    const auto status =
        dnnl::sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', d(m), d(n), d(k), alpha,
                    a.first, d(a.stride), b.first, d(b.stride), beta, c, d(c_stride));
    if (status != dnnl::status::success)
        throw dnnl::error(static_cast<dnnl_status_t>(status), "sgemm");
}

} // namespace troupe::cpu

#include "tests/bench/sgemm_peak.hpp"

#include <algorithm>
#include <dnnl.hpp>
#include <vector>

#include "kernels/cpu/arithmetic_scope.hpp"

namespace troupe::bench {

double sgemm_peak_flops(const time_source& time) {
    const cpu::arithmetic_scope one_thread;
    constexpr dnnl::memory::dim n = 1024;
    const std::vector<float> a(n * n, 1), b(n * n, 1);
    std::vector<float> c(n * n);
    double best = 0;
    for (int i = 0; i < 12; ++i) {
        const time_point start = time.now();
        dnnl::sgemm('N', 'N', n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
        const double seconds = static_cast<double>((time.now() - start).count()) * 1e-9;
        best = std::max(best, 2.0 * n * n * n / seconds);
    }
    return best;
}

} // namespace troupe::bench

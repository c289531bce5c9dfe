#include "apps/factorization/sgd_loops.hpp"
#include "kernels/cpu/fastest_loops.hpp"

namespace troupe::factorization {

const sgd_loops& fastest_sgd_loops() {
    return cpu::fastest(sgd_loops_avx512, sgd_loops_avx2, sgd_loops_baseline);
}

} // namespace troupe::factorization

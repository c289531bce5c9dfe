#include "apps/lda/exact_loops.hpp"
#include "kernels/cpu/fastest_loops.hpp"

namespace troupe::lda {

const exact_loops& fastest_exact_loops() {
    return cpu::fastest(exact_loops_avx512, exact_loops_avx2, exact_loops_baseline);
}

} // namespace troupe::lda

#include "kernels/cpu/bf16_loops.hpp"
#include "kernels/cpu/fastest_loops.hpp"

namespace troupe::cpu {

#if defined(__x86_64__)

bool bf16_is_faster() noexcept {
    return widest_instruction_set() == instruction_set::avx512_bf16 && __builtin_cpu_is("amd");
}

const bf16_loops& fastest_bf16_loops() noexcept {
    return bf16_is_faster() ? bf16_loops_avx512bf16
                            : fastest(bf16_loops_avx512, bf16_loops_avx2, bf16_loops_baseline);
}

#else

bool bf16_is_faster() noexcept {
    return false;
}

const bf16_loops& fastest_bf16_loops() noexcept {
    return bf16_loops_baseline;
}

#endif

} // namespace troupe::cpu

#include "kernels/cpu/bf16_loops.hpp"

namespace troupe::cpu {

#if defined(__x86_64__)

bool bf16_is_faster() noexcept {
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_is("amd");
}

const bf16_loops& fastest_bf16_loops() noexcept {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return bf16_loops_baseline;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return bf16_loops_avx2;
    return bf16_is_faster() ? bf16_loops_avx512bf16 : bf16_loops_avx512;
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

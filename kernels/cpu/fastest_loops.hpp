// Which of the loops that are compiled once per instruction set this machine runs.
#pragma once

namespace troupe::cpu {

inline bool has_avx512() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return false;
#endif
}

template <class Loops>
const Loops& fastest([[maybe_unused]] const Loops& avx512, [[maybe_unused]] const Loops& avx2,
                     const Loops& baseline) noexcept {
#if defined(__x86_64__)
    if (has_avx512())
        return avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return avx2;
#endif
    return baseline;
}

} // namespace troupe::cpu

// The choice among loops that are compiled once per instruction set.
#pragma once

#include "kernels/cpu/instruction_set.hpp"

namespace troupe::cpu {

template <class Loops>
const Loops& fastest([[maybe_unused]] const Loops& avx512, [[maybe_unused]] const Loops& avx2,
                     const Loops& baseline) noexcept {
#if defined(__x86_64__)
    const instruction_set widest = widest_instruction_set();
    if (widest >= instruction_set::avx512)
        return avx512;
    if (widest == instruction_set::avx2)
        return avx2;
#endif
    return baseline;
}

} // namespace troupe::cpu

// Compiled several times, with TROUPE_SPARSE_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/sparse_loops.hpp"

#include "kernels/cpu/lane_masks.hpp"

namespace troupe::cpu {

namespace {

inline std::int32_t magnitude(float x) {
    std::int32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffff;
}

std::size_t count(const float* x, std::size_t count, std::int32_t least) {
    constexpr std::size_t block = 1 << 16; // so that 32 bits hold what a lane counts
    std::size_t all = 0;
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t end = first + block < count ? first + block : count;
        std::int32_t here = 0;
        for (std::size_t i = first; i < end; ++i)
            here += magnitude(x[i]) >= least ? 1 : 0;
        all += static_cast<std::size_t>(here);
    }
    return all;
}

// Writes the indices that a mask of 16 from `first` on tells; may write up to 16.
inline std::size_t put_all(std::uint32_t mask, std::size_t first, char* to) {
#if defined(__AVX512F__)
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i at = _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(first)));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), at));
    return static_cast<std::size_t>(__builtin_popcount(mask));
#else
    std::size_t found = 0;
    for (; mask != 0; mask &= mask - 1, ++found) {
        const auto at =
            static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(__builtin_ctz(mask));
        __builtin_memcpy(to + 4 * found, &at, 4);
    }
    return found;
#endif
}

std::size_t find(const float* x, std::size_t count, std::int32_t least, void* to,
                 std::size_t most) {
    auto* const bytes = static_cast<char*>(to);
    std::size_t found = 0, i = 0;
    for (; i + mask_lanes <= count && found + mask_lanes <= most; i += mask_lanes)
        if (const std::uint32_t mask = magnitude_above(x + i, least - 1); mask != 0)
            found += put_all(mask, i, bytes + 4 * found);
    for (; i < count && found < most; ++i)
        if (magnitude(x[i]) >= least) {
            const auto at = static_cast<std::uint32_t>(i);
            __builtin_memcpy(bytes + 4 * found++, &at, 4);
        }
    return found;
}

bool ascend(const void* indices, std::size_t count, std::uint32_t mask, std::size_t bound) {
    const auto* bytes = static_cast<const char*>(indices);
    const auto at = [&](std::size_t i) {
        std::uint32_t index;
        __builtin_memcpy(&index, bytes + 4 * i, 4);
        return index & mask;
    };
    bool wrong = count > 0 && at(count - 1) >= bound;
    for (std::size_t i = 1; i < count; ++i)
        wrong |= at(i) <= at(i - 1);
    return !wrong;
}

} // namespace

extern const sparse_loops TROUPE_SPARSE_LOOPS;
const sparse_loops TROUPE_SPARSE_LOOPS{count, find, ascend};

} // namespace troupe::cpu

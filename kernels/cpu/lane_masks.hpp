// Masks of 16 consecutive floats, one bit for each that fulfils a condition, for the loops that are compiled once per
// instruction set. All functions have internal linkage, as the linker would otherwise keep one copy for all instruction
// sets.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace troupe::cpu {

namespace {

constexpr std::size_t mask_lanes = 16;

// x[l] >= 0
inline std::uint32_t nonnegative(const float* x) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(x), _mm512_setzero_ps(), _CMP_GE_OQ);
#else
    std::uint32_t mask = 0;
#if defined(__AVX2__)
    for (std::uint32_t l = 0; l < mask_lanes; l += 8)
        mask |= static_cast<std::uint32_t>(_mm256_movemask_ps(
                    _mm256_cmp_ps(_mm256_loadu_ps(x + l), _mm256_setzero_ps(), _CMP_GE_OQ)))
                << l;
#elif defined(__SSE2__)
    for (std::uint32_t l = 0; l < mask_lanes; l += 4)
        mask |= static_cast<std::uint32_t>(
                    _mm_movemask_ps(_mm_cmpge_ps(_mm_loadu_ps(x + l), _mm_setzero_ps())))
                << l;
#else
    for (std::uint32_t l = 0; l < mask_lanes; ++l)
        mask |= (x[l] >= 0 ? 1u : 0u) << l;
#endif
    return mask;
#endif
}

// The bits of x[l] without its sign are above `below`, both as whole numbers.
inline std::uint32_t magnitude_above(const float* x, std::int32_t below) {
#if defined(__AVX512F__)
    const __m512i bits = _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi32(0x7fffffff));
    return _mm512_cmpgt_epi32_mask(bits, _mm512_set1_epi32(below));
#else
    std::uint32_t mask = 0;
#if defined(__AVX2__)
    for (std::uint32_t l = 0; l < mask_lanes; l += 8) {
        const __m256i bits =
            _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + l)),
                             _mm256_set1_epi32(0x7fffffff));
        mask |= static_cast<std::uint32_t>(_mm256_movemask_ps(
                    _mm256_castsi256_ps(_mm256_cmpgt_epi32(bits, _mm256_set1_epi32(below)))))
                << l;
    }
#elif defined(__SSE2__)
    for (std::uint32_t l = 0; l < mask_lanes; l += 4) {
        const __m128i bits = _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + l)),
                                           _mm_set1_epi32(0x7fffffff));
        mask |= static_cast<std::uint32_t>(
                    _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(bits, _mm_set1_epi32(below)))))
                << l;
    }
#else
    for (std::uint32_t l = 0; l < mask_lanes; ++l) {
        std::int32_t bits;
        __builtin_memcpy(&bits, x + l, sizeof bits);
        mask |= ((bits & 0x7fffffff) > below ? 1u : 0u) << l;
    }
#endif
    return mask;
#endif
}

} // namespace

} // namespace troupe::cpu

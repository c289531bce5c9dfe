// Eight floats as one value, for loops that are compiled once per instruction set. All has internal linkage, as the linker
// would keep one copy for all instruction sets otherwise. No result depends on the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace troupe::lda {

namespace {

constexpr std::size_t lanes = 8;

typedef float four __attribute__((vector_size(16)));
typedef std::int32_t four_integers __attribute__((vector_size(16)));

// Bit l is whether from[l] is `value`.
[[maybe_unused]] inline unsigned equal(const std::uint16_t* from, std::uint16_t value) {
#if defined(__SSE2__)
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i is = _mm_cmpeq_epi16(all, _mm_set1_epi16(static_cast<short>(value)));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(is, _mm_setzero_si128())));
#else
    unsigned bits = 0;
    for (std::size_t l = 0; l < lanes; ++l)
        bits |= static_cast<unsigned>(from[l] == value) << l;
    return bits;
#endif
}

#if defined(__AVX2__)

typedef float eight __attribute__((vector_size(32)));

inline eight get(const float* from) {
    return (eight)_mm256_loadu_ps(from);
}
inline void put(float* to, eight v) {
    _mm256_storeu_ps(to, (__m256)v);
}
inline eight all_of(float x) {
    return (eight)_mm256_set1_ps(x);
}
inline eight floats_of(const std::uint16_t* from) {
    return (eight)_mm256_cvtepi32_ps(
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
inline eight floats_of(const std::int32_t* from) {
    return (eight)_mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline eight gather(const float* from, const std::uint16_t* places) {
    const __m256i at =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(places)));
    return (eight)_mm256_i32gather_ps(from, at, 4);
}
// Lane l is the sum of lanes 0 to l: within halves, then that of the lower half is added to the upper one.
inline eight running_sums(eight of) {
    const auto up = [](eight v, auto shifted) { return v + (eight)_mm256_castsi256_ps(shifted); };
    of = up(of, _mm256_slli_si256(_mm256_castps_si256((__m256)of), 4));
    of = up(of, _mm256_slli_si256(_mm256_castps_si256((__m256)of), 8));
    const __m256 lower = _mm256_permute2f128_ps((__m256)of, (__m256)of, 0x08); // in the upper half
    return of + (eight)_mm256_permute_ps(lower, 0xff);
}
inline eight with_added(eight to, std::uint32_t lane, float x) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i is = _mm256_cmpeq_epi32(numbers, _mm256_set1_epi32(static_cast<int>(lane)));
    return to + (eight)_mm256_and_ps(_mm256_castsi256_ps(is), _mm256_set1_ps(x));
}
// Bit l is whether lane l is at most x.
inline unsigned at_most(eight v, float x) {
    return static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_cmp_ps((__m256)v, _mm256_set1_ps(x), _CMP_LE_OQ)));
}
inline float sum_of(eight v) {
    const four s =
        (four)_mm256_castps256_ps128((__m256)v) + (four)_mm256_extractf128_ps((__m256)v, 1);
    return (s[0] + s[2]) + (s[1] + s[3]);
}

#else

// The compiler keeps what is wider than a register in memory.
struct eight {
    four low = {}, high = {};

    eight& operator+=(eight other) {
        low += other.low;
        high += other.high;
        return *this;
    }
};
[[maybe_unused]] inline eight operator+(eight a, eight b) {
    return a += b;
}
[[maybe_unused]] inline eight operator*(eight a, eight b) {
    return {a.low * b.low, a.high * b.high};
}

[[maybe_unused]] inline eight get(const float* from) {
    eight v;
    std::memcpy(&v.low, from, sizeof v.low);
    std::memcpy(&v.high, from + 4, sizeof v.high);
    return v;
}
[[maybe_unused]] inline void put(float* to, eight v) {
    std::memcpy(to, &v.low, sizeof v.low);
    std::memcpy(to + 4, &v.high, sizeof v.high);
}
[[maybe_unused]] inline eight all_of(float x) {
    return {four{} + x, four{} + x};
}
[[maybe_unused]] inline eight floats_of(const std::int32_t* from) {
    four_integers low, high;
    std::memcpy(&low, from, sizeof low);
    std::memcpy(&high, from + 4, sizeof high);
    return {__builtin_convertvector(low, four), __builtin_convertvector(high, four)};
}
[[maybe_unused]] inline eight floats_of(const std::uint16_t* from) {
#if defined(__SSE2__)
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return {(four)_mm_cvtepi32_ps(_mm_unpacklo_epi16(all, _mm_setzero_si128())),
            (four)_mm_cvtepi32_ps(_mm_unpackhi_epi16(all, _mm_setzero_si128()))};
#else
    std::int32_t all[lanes];
    for (std::size_t l = 0; l < lanes; ++l)
        all[l] = from[l];
    return floats_of(all);
#endif
}
[[maybe_unused]] inline eight gather(const float* from, const std::uint16_t* places) {
    const auto four_of = [from](const std::uint16_t* at) {
        return four{from[at[0]], from[at[1]], from[at[2]], from[at[3]]};
    };
    return {four_of(places), four_of(places + 4)};
}
[[maybe_unused]] inline eight running_sums(eight of) {
    constexpr four none = {};
    const auto half = [none](four v) {
        v += __builtin_shuffle(v, none, four_integers{4, 0, 1, 2});
        return v + __builtin_shuffle(v, none, four_integers{4, 4, 0, 1});
    };
    const four low = half(of.low), high = half(of.high);
    return {low, high + low[3]};
}
[[maybe_unused]] inline eight with_added(eight to, std::uint32_t lane, float x) {
    const auto part = [lane, x](four_integers numbers) {
        const four added = four{} + x;
        return (four)((numbers == static_cast<std::int32_t>(lane)) & (four_integers)added);
    };
    return to + eight{part(four_integers{0, 1, 2, 3}), part(four_integers{4, 5, 6, 7})};
}
[[maybe_unused]] inline unsigned at_most(eight v, float x) {
#if defined(__SSE2__)
    const __m128 all = _mm_set1_ps(x);
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmple_ps((__m128)v.low, all)) |
                                 _mm_movemask_ps(_mm_cmple_ps((__m128)v.high, all)) << 4);
#else
    unsigned bits = 0;
    for (std::size_t l = 0; l < 4; ++l)
        bits |= static_cast<unsigned>(v.low[l] <= x) << l | static_cast<unsigned>(v.high[l] <= x)
                                                                << (l + 4);
    return bits;
#endif
}
[[maybe_unused]] inline float sum_of(eight v) {
    const four s = v.low + v.high;
    return (s[0] + s[2]) + (s[1] + s[3]);
}

#endif

} // namespace

} // namespace troupe::lda

// Vectors as wide as the registers of the instruction set that a file is compiled for. All has internal linkage, as the
// linker would keep one copy for all instruction sets otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace troupe::cpu {

namespace {

// Lanes of a register, and how many rows and registers across a tile of a matrix has, such that the registers hold it.
#if defined(__AVX512F__)
constexpr std::size_t lanes = 16;
constexpr int rows_max = 14, vectors_max = 2;
#elif defined(__AVX2__)
constexpr std::size_t lanes = 8;
constexpr int rows_max = 6, vectors_max = 2;
#else
constexpr std::size_t lanes = 4;
constexpr int rows_max = 4, vectors_max = 2;
#endif
typedef float vec __attribute__((vector_size(lanes * 4)));
typedef float vec_in_memory __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef std::uint32_t ints __attribute__((vector_size(lanes * 4)));
typedef std::uint32_t ints_in_memory __attribute__((vector_size(lanes * 4), aligned(4), may_alias));

inline std::size_t least(std::size_t a, std::size_t b) {
    return a < b ? a : b;
}

inline vec get(const float* from) {
    return *reinterpret_cast<const vec_in_memory*>(from);
}
inline void put(float* to, vec v) {
    *reinterpret_cast<vec_in_memory*>(to) = v;
}

// Lane by lane; y where one is NaN.
inline vec larger(vec x, vec y) {
#if defined(__AVX512F__)
    return reinterpret_cast<vec>(
        _mm512_max_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(y)));
#else
    return x > y ? x : y;
#endif
}

// The first `count` numbers of a vector, then zeros; and only so many of its lanes.
#if defined(__AVX512F__)

inline __mmask16 first(std::size_t count) {
    return static_cast<__mmask16>((1u << count) - 1);
}
inline vec load(const float* from, std::size_t count) {
    return reinterpret_cast<vec>(_mm512_maskz_loadu_ps(first(count), from));
}
inline void store(float* to, vec v, std::size_t count) {
    _mm512_mask_storeu_ps(to, first(count), reinterpret_cast<__m512>(v));
}

#else

inline vec load(const float* from, std::size_t count) {
    float some[lanes] = {};
    if (count < lanes) {
        for (std::size_t i = 0; i < count; ++i)
            some[i] = from[i];
        from = some;
    }
    return *reinterpret_cast<const vec_in_memory*>(from);
}
inline void store(float* to, vec v, std::size_t count) {
    if (count == lanes)
        *reinterpret_cast<vec_in_memory*>(to) = v;
    else
        for (std::size_t i = 0; i < count; ++i)
            to[i] = v[i];
}

#endif

// Lane l has what lane l ^ Distance had.
template <int Distance>
inline vec exchanged(vec x) {
    ints from = {};
    for (std::uint32_t l = 0; l < lanes; ++l)
        from[l] = l ^ Distance;
    return __builtin_shuffle(x, from);
}

// The sum of all lanes, in every lane; halves are added to halves.
template <int Distance = lanes / 2>
inline vec total_of(vec x) {
    x += exchanged<Distance>(x);
    if constexpr (Distance > 1)
        return total_of<Distance / 2>(x);
    return x;
}
template <int Distance = lanes / 2>
inline vec largest_of(vec x) {
    x = larger(x, exchanged<Distance>(x));
    if constexpr (Distance > 1)
        return largest_of<Distance / 2>(x);
    return x;
}

// The first `count` lanes of x, and y behind them.
inline vec first_of(vec x, std::size_t count, vec y) {
    ints lane = {};
    for (std::uint32_t l = 0; l < lanes; ++l)
        lane[l] = l;
    return lane < static_cast<std::uint32_t>(count) ? x : y;
}

// Exchanges what is off the diagonal in squares of 2 * Distance rows and lanes.
template <std::uint32_t Distance>
inline void exchange(ints* rows) {
    ints upper_lanes = {};
    for (std::uint32_t l = 0; l < lanes; ++l)
        upper_lanes[l] = l & Distance ? lanes + l - Distance : l;
    for (std::size_t r = 0; r < lanes; ++r) {
        if (r & Distance)
            continue;
        const ints upper = rows[r], lower = rows[r + Distance];
        rows[r] = __builtin_shuffle(upper, lower, upper_lanes);
        rows[r + Distance] = __builtin_shuffle(upper, lower, upper_lanes + Distance);
    }
}

// Transposes as many rows as there are lanes.
template <std::uint32_t Distance = 1>
inline void transpose(ints* rows) {
    exchange<Distance>(rows);
    if constexpr (2 * Distance < lanes)
        transpose<2 * Distance>(rows);
}

} // namespace

} // namespace troupe::cpu

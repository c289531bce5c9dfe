// Vectors of float64 as wide as the registers of the instruction set that a file is compiled for, and sums whose order does
// not depend on that width. All has internal linkage, as the linker would keep one copy for all instruction sets otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/columns/column_list.hpp"

namespace troupe::columns {

namespace {

#if defined(__AVX512F__)
constexpr std::size_t width = 8;
#elif defined(__AVX2__)
constexpr std::size_t width = 4;
#else
constexpr std::size_t width = 2;
#endif
typedef double wide __attribute__((vector_size(width * 8)));
typedef double wide_in_memory __attribute__((vector_size(width * 8), aligned(8), may_alias));
typedef float narrow __attribute__((vector_size(width * 4)));
typedef float narrow_in_memory __attribute__((vector_size(width * 4), aligned(4), may_alias));

inline wide get(const double* from) {
    return *reinterpret_cast<const wide_in_memory*>(from);
}
inline void put(double* to, wide v) {
    *reinterpret_cast<wide_in_memory*>(to) = v;
}
// GCC 12 would convert halves of a register, in part by way of memory.
inline wide widened(const float* from) {
#if defined(__AVX512F__)
    constexpr __mmask8 all = 0xff; // the form without a mask makes GCC 12 warn
    return reinterpret_cast<wide>(_mm512_maskz_cvtps_pd(all, _mm256_loadu_ps(from)));
#elif defined(__AVX2__)
    return reinterpret_cast<wide>(_mm256_cvtps_pd(_mm_loadu_ps(from)));
#else
    const narrow v = *reinterpret_cast<const narrow_in_memory*>(from);
    return __builtin_convertvector(v, wide);
#endif
}

inline std::size_t least(std::size_t a, std::size_t b) {
    return a < b ? a : b;
}

inline std::size_t number_of(const column_list& list, std::size_t i) {
    return list.numbers == nullptr ? list.first + i : list.numbers[i];
}

// Running sums of a long sum, one for each remainder of an element's number; in registers.
constexpr std::size_t running = 8;
constexpr std::size_t parts = running / width;

// Halves are added to halves.
inline double total_of(const wide* sums) {
    double all[running];
    for (std::size_t p = 0; p < parts; ++p)
        put(all + p * width, sums[p]);
    for (std::size_t half = running / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i)
            all[i] += all[i + half];
    return all[0];
}

} // namespace

} // namespace troupe::columns

// Products of matrices by a warp (nvcuda::wmma) on the emulated GPU: bfloat16 factors of 16x16, sums in float32.
//
// CUDA leaves open which lane has which elements of a fragment, but for fragments of one type. Here they are strewn over the
// lanes, differently for each type, so that code that takes them to lie somewhere goes wrong. Addresses and strides that
// CUDA does not allow end the program.
#pragma once

#include "schemas/base/check.hpp"
#include "tests/emulated_cuda/cuda_bf16.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

namespace emulated_fragment {

inline constexpr unsigned side = 16, lanes = 32, elements_of_lane = side * side / lanes;

// Place in row-major order, of the element that a lane has at `i`. `stray` is odd.
constexpr unsigned place(unsigned lane, unsigned i, unsigned stray) {
    return ((lane * elements_of_lane + i) * stray + stray / 2) % (side * side);
}
template <unsigned stray>
struct places {
    unsigned of_place[side * side];
    constexpr places() : of_place{} {
        for (unsigned lane = 0; lane < lanes; ++lane)
            for (unsigned i = 0; i < elements_of_lane; ++i)
                of_place[place(lane, i, stray)] = lane * elements_of_lane + i;
    }
};
// Where an element lies among those of all lanes, lane after lane.
template <unsigned stray>
inline constexpr places<stray> all_places;

template <class T, unsigned stray_>
struct elements {
    static constexpr unsigned stray = stray_;
    static constexpr int num_elements = elements_of_lane;
    T x[elements_of_lane];
};

inline float number(float x) {
    return x;
}
inline float number(__nv_bfloat16 x) {
    return __bfloat162float(x);
}

// Calls f with the number of each element of this lane, and its offset in a matrix of this stride.
template <unsigned stray, class T, class Function>
void each_element(const T* matrix, unsigned stride, bool is_row_major, Function f) {
    TROUPE_CHECK(reinterpret_cast<std::uintptr_t>(matrix) % 32 == 0,
                 "a matrix is not aligned to 256 bits");
    TROUPE_CHECK(stride * sizeof(T) % 16 == 0 && stride >= side,
                 "a matrix has no stride of 16 bytes");
    for (unsigned i = 0; i < elements_of_lane; ++i) {
        const unsigned at = place(static_cast<unsigned>(emulated::lane()), i, stray);
        const unsigned row = at / side, column = at % side;
        f(i, is_row_major ? row * stride + column : column * stride + row);
    }
}

} // namespace emulated_fragment

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment;
template <>
class fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major>
    : public emulated_fragment::elements<__nv_bfloat16, 37> {};
template <>
class fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major>
    : public emulated_fragment::elements<__nv_bfloat16, 91> {};
template <>
class fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major>
    : public emulated_fragment::elements<__nv_bfloat16, 153> {};
template <>
class fragment<accumulator, 16, 16, 16, float> : public emulated_fragment::elements<float, 205> {};

template <class Use, class T, class Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& to, const T* from, unsigned stride) {
    emulated_fragment::each_element<to.stray>(
        from, stride, std::is_same_v<Layout, row_major>,
        [&](unsigned i, unsigned offset) { to.x[i] = from[offset]; });
}
inline void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& to, const float* from,
                             unsigned stride, layout_t layout) {
    emulated_fragment::each_element<to.stray>(
        from, stride, layout == mem_row_major,
        [&](unsigned i, unsigned offset) { to.x[i] = from[offset]; });
}
inline void store_matrix_sync(float* to, const fragment<accumulator, 16, 16, 16, float>& from,
                              unsigned stride, layout_t layout) {
    emulated_fragment::each_element<from.stray>(
        to, stride, layout == mem_row_major,
        [&](unsigned i, unsigned offset) { to[offset] = from.x[i]; });
}

inline void fill_fragment(fragment<accumulator, 16, 16, 16, float>& to, float value) {
    for (float& x : to.x)
        x = value;
}

// sums = a b + before; `sums` may be `before`.
template <class A, class B>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& sums,
              const fragment<matrix_a, 16, 16, 16, __nv_bfloat16, A>& a,
              const fragment<matrix_b, 16, 16, 16, __nv_bfloat16, B>& b,
              const fragment<accumulator, 16, 16, 16, float>& before) {
    using namespace emulated_fragment;
    float mine[2 * elements_of_lane];
    for (unsigned i = 0; i < elements_of_lane; ++i) {
        mine[i] = number(a.x[i]);
        mine[elements_of_lane + i] = number(b.x[i]);
    }
    const float* const all = emulated::shown_by_warp(mine, 2 * elements_of_lane);
    const auto element = [&](const auto& places, unsigned at, unsigned first) {
        const unsigned of = places.of_place[at];
        return all[of / elements_of_lane * 2 * elements_of_lane + first + of % elements_of_lane];
    };
    for (unsigned i = 0; i < elements_of_lane; ++i) {
        const unsigned at = place(static_cast<unsigned>(emulated::lane()), i, sums.stray);
        float sum = before.x[i];
        for (unsigned j = 0; j < side; ++j)
            sum += element(all_places<a.stray>, at / side * side + j, 0) *
                   element(all_places<b.stray>, j * side + at % side, elements_of_lane);
        sums.x[i] = sum;
    }
}

} // namespace nvcuda::wmma

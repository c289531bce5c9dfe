// Compiled once per instruction set (bf16_loops.hpp): no inline functions from elsewhere.
//
// The factors are packed in panels as wide as a register, rows of `a` or columns of `b`, pair of k after pair of k. A tile
// of the result is held in registers while it passes along the panels. Goto and van de Geijn 2008.
#include "kernels/cpu/bf16_loops.hpp"

#include <cstdint>

#include "kernels/cpu/registers.hpp"

namespace troupe::cpu {

namespace {

// Limits of packing: a panel of `a` stays in the first-level cache, the panels of `b` stay in the second.
constexpr std::size_t depth_max = 384;
constexpr std::size_t packed_bytes = 768 << 10;

// Without the last so many bits of the significand.
template <std::uint32_t Dropped>
ints rounded(vec x) {
    const ints bits = reinterpret_cast<ints>(x);
    const ints nearest = bits + ((1u << (Dropped - 1)) - 1) + (bits >> Dropped & 1u);
    const ints number = (x != x ? bits | 0x00400000u : nearest) & ~((1u << Dropped) - 1);
    return (bits & 0x7f800000u) == 0u ? bits & 0x80000000u : number;
}

template <std::uint32_t Dropped>
void round_all(const float* from, float* to, std::size_t count) {
    for (std::size_t i = 0; i < count; i += lanes) {
        const std::size_t some = least(lanes, count - i);
        store(to + i, reinterpret_cast<vec>(rounded<Dropped>(load(from + i, some))), some);
    }
}

void round(precision products, const float* from, float* to, std::size_t count) {
    if (products == precision::bfloat16)
        round_all<16>(from, to, count);
    else
        round_all<13>(from, to, count);
}

// --- words: what a lane of a panel holds

#if defined(__AVX512BF16__)

constexpr std::size_t pair_words = 1; // the odd one above the even one

__m512 floats(vec x) {
    return reinterpret_cast<__m512>(x);
}

// Consecutive numbers along k, as many as a vector of words holds.
ints words(const float* from, std::size_t count) {
    const vec high = count > lanes ? load(from + lanes, count - lanes) : vec{};
    return reinterpret_cast<ints>(
        _mm512_cvtne2ps_pbh(floats(high), floats(load(from, least(count, lanes)))));
}

void put_pair(std::uint32_t* to, vec even, vec odd) {
    const auto widened = [](vec x) {
        return reinterpret_cast<ints>(
            _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(floats(x)))));
    };
    *reinterpret_cast<ints_in_memory*>(to) = widened(even) | widened(odd) << 16;
}

vec add_product(vec sum, ints a, ints b) {
    return reinterpret_cast<vec>(_mm512_dpbf16_ps(floats(sum), reinterpret_cast<__m512bh>(a),
                                                  reinterpret_cast<__m512bh>(b)));
}

#else

constexpr std::size_t pair_words = 2; // the odd one as a float, then the even one

ints words(const float* from, std::size_t count) {
    return rounded<16>(load(from, count));
}

void put_pair(std::uint32_t* to, vec even, vec odd) {
    *reinterpret_cast<ints_in_memory*>(to) = rounded<16>(odd);
    *reinterpret_cast<ints_in_memory*>(to + lanes) = rounded<16>(even);
}

// May be one instruction: the product is exact.
vec add_product(vec sum, ints a, ints b) {
    return sum + reinterpret_cast<vec>(a) * reinterpret_cast<vec>(b);
}

#endif

// --- packing

// A register's rows of `a` or columns of `b` along some of k, or fewer.
struct strip {
    const float* first;
    // From lane to lane if consecutive numbers in memory are those along k, else from k to k.
    std::size_t stride;
    bool is_along_k;
    std::size_t lanes;
    std::size_t depth;
};

void pack_along_k(const strip& s, std::uint32_t* to) {
    constexpr std::size_t at_a_time = lanes * 2 / pair_words;
    for (std::size_t k = 0; k < s.depth; k += at_a_time, to += lanes * lanes) {
        const std::size_t count = least(at_a_time, s.depth - k);
        ints rows[lanes];
        for (std::size_t l = 0; l < lanes; ++l)
            rows[l] = l < s.lanes ? words(s.first + l * s.stride + k, count) : ints{};
        transpose(rows);
        // The second of two words of a pair comes first.
        for (std::size_t w = 0; w < (count + 1) / 2 * pair_words; ++w)
            *reinterpret_cast<ints_in_memory*>(to + (w ^ (pair_words - 1)) * lanes) = rows[w];
    }
}

void pack_across_k(const strip& s, std::uint32_t* to) {
    for (std::size_t k = 0; k < s.depth; k += 2, to += pair_words * lanes) {
        const float* even = s.first + k * s.stride;
        put_pair(to, load(even, s.lanes), k + 1 < s.depth ? load(even + s.stride, s.lanes) : vec{});
    }
}

void pack(const strip& s, std::uint32_t* to) {
    if (s.is_along_k)
        pack_along_k(s, to);
    else
        pack_across_k(s, to);
}

// --- tiles

struct tile {
    const std::uint32_t* a;
    const std::uint32_t* b;
    std::size_t b_distance; // from panel to panel
    std::size_t words;      // along k
    float* c;
    std::size_t c_stride;
    std::size_t last_columns; // of the last vector
    bool adds;                // to what c holds
};

template <int Rows, int Vectors>
void compute(const tile& t) {
    const auto columns = [&](int v) { return v + 1 < Vectors ? lanes : t.last_columns; };
    vec sums[Rows][Vectors];
    for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < Vectors; ++v)
            sums[r][v] = t.adds ? load(t.c + r * t.c_stride + v * lanes, columns(v)) : vec{};
    const std::uint32_t *a = t.a, *b = t.b;
    for (std::size_t w = 0; w < t.words; ++w, a += lanes, b += lanes) {
        ints column[Vectors];
        for (int v = 0; v < Vectors; ++v)
            column[v] = *reinterpret_cast<const ints_in_memory*>(b + v * t.b_distance);
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v)
                sums[r][v] = add_product(sums[r][v], ints{} + a[r], column[v]);
    }
    for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < Vectors; ++v)
            store(t.c + r * t.c_stride + v * lanes, sums[r][v], columns(v));
}

template <int Rows>
void compute_rows(const tile& t, std::size_t rows, std::size_t vectors) {
    if (rows < Rows) {
        if constexpr (Rows > 1)
            compute_rows<Rows - 1>(t, rows, vectors);
        return;
    }
    if (vectors == vectors_max)
        compute<Rows, vectors_max>(t);
    else
        compute<Rows, 1>(t);
}

// --- products

std::size_t panel_words(std::size_t depth) {
    return (depth + 1) / 2 * pair_words * lanes;
}

// Columns of `b` that are packed at a time; a multiple of a tile's.
std::size_t columns_at_a_time(std::size_t depth) {
    constexpr std::size_t of_tile = vectors_max * lanes;
    const std::size_t panels = packed_bytes / (panel_words(depth) * sizeof(std::uint32_t));
    return panels * lanes / of_tile * of_tile;
}

// Rows first .. first + rows of c, columns from `column` on, for one piece of k.
void multiply_rows(const matrix_product& p, const tile& at, std::size_t first, std::size_t rows,
                   std::size_t column, std::size_t columns) {
    tile t = at;
    for (std::size_t done = 0; done < columns; done += vectors_max * lanes) {
        const std::size_t width = least(vectors_max * lanes, columns - done);
        const std::size_t vectors = (width + lanes - 1) / lanes;
        t.b = at.b + done / lanes * at.b_distance;
        t.c = p.c + first * p.c_stride + column + done;
        t.last_columns = width - (vectors - 1) * lanes;
        compute_rows<rows_max>(t, rows, vectors);
    }
}

void multiply_depth(const matrix_product& p, std::size_t k, std::size_t depth,
                    std::uint32_t* workspace) {
    const std::size_t panel = panel_words(depth);
    std::uint32_t* const packed_a = workspace;
    std::uint32_t* const packed_b = workspace + panel;
    const tile t{packed_a, packed_b,   panel, panel / lanes,
                 nullptr,  p.c_stride, 0,     k > 0 || p.beta != 0};
    const std::size_t row_panels = (p.m + rows_max - 1) / rows_max;
    const std::size_t at_a_time = columns_at_a_time(depth);
    for (std::size_t column = 0; column < p.n; column += at_a_time) {
        const std::size_t columns = least(at_a_time, p.n - column);
        for (std::size_t n = column; n < column + columns; n += lanes)
            pack({p.b.first + (p.b.transposed ? n * p.b.stride + k : k * p.b.stride + n),
                  p.b.stride, p.b.transposed, least(lanes, column + columns - n), depth},
                 packed_b + (n - column) / lanes * panel);
        for (std::size_t i = 0; i < row_panels; ++i) {
            const std::size_t first = p.m * i / row_panels;
            const std::size_t rows = p.m * (i + 1) / row_panels - first;
            pack({p.a.first + (p.a.transposed ? k * p.a.stride + first : first * p.a.stride + k),
                  p.a.stride, !p.a.transposed, rows, depth},
                 packed_a);
            multiply_rows(p, t, first, rows, column, columns);
        }
    }
}

std::size_t workspace_bytes(const matrix_product& p) {
    const std::size_t depth = least(p.k, depth_max);
    const std::size_t columns = least(p.n, columns_at_a_time(depth));
    return (1 + (columns + lanes - 1) / lanes) * panel_words(depth) * sizeof(std::uint32_t);
}

void multiply(const matrix_product& p, void* workspace) {
    for (std::size_t k = 0; k < p.k; k += depth_max)
        multiply_depth(p, k, least(depth_max, p.k - k), static_cast<std::uint32_t*>(workspace));
}

} // namespace

extern const bf16_loops TROUPE_BF16_LOOPS;
const bf16_loops TROUPE_BF16_LOOPS{workspace_bytes, multiply, round};

} // namespace troupe::cpu

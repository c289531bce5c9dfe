// Compiled once per instruction set, with TROUPE_PRODUCT_LOOPS naming the table: no inline functions from elsewhere.
#include "kernels/cpu/product_loops.hpp"

#include "kernels/cpu/packed_products.hpp"

namespace troupe::cpu {

namespace {

// Sizes that are packed at a time: two panels of a tile, one of either factor, fill most of the first-level cache, all of
// them the second.
constexpr std::size_t depth_max = 384, columns_max = 512;
constexpr std::size_t tiles_max = 96 / rows_max;
constexpr std::size_t steps = 8; // along k at a time where `a` is packed
constexpr std::size_t line = 64 / sizeof(float);

// From tile to tile of `a`: a vector more, as its steps are stored as whole vectors.
constexpr std::size_t tile_floats = rows_max * depth_max + lanes;
constexpr std::size_t packed_a_floats = rounded_up(tiles_max * tile_floats, line);

// Tile after tile, of each the numbers of every k beside one another. Reads rows of a transposed `a` as they lie in memory.
void pack_tiles(const float* a, std::size_t stride, std::size_t depth, const strips& tiles,
                float* to) {
    for (std::size_t k = 0; k < depth; k += steps, a += steps * stride) {
        const std::size_t count = least(steps, depth - k);
        for (std::size_t s = 0; s < least(steps, depth - k - count); ++s)
            for (std::size_t i = 0; i < tiles.rows; i += line)
                __builtin_prefetch(a + (steps + s) * stride + i);
        for (std::size_t i = 0; i < tiles.count; ++i) {
            const std::size_t first = tiles.first(i), rows = tiles.rows_of(i);
            const std::size_t readable = least(lanes, tiles.rows - first);
            for (std::size_t s = 0; s < count; ++s) {
                // The next step stores over what is stored behind its rows.
                float* const there = to + i * tile_floats + (k + s) * rows_max;
                const float* const from = a + s * stride + first;
                if (lanes >= rows_max && readable == lanes)
                    put(there, get(from));
                else
                    for (std::size_t r = 0; r < rows; ++r)
                        there[r] = from[r];
            }
        }
    }
}

void pack_panels(const float* b, std::size_t stride, std::size_t depth, std::size_t columns,
                 float* to) {
    for (std::size_t c = 0; c < columns; c += lanes) {
        const std::size_t some = least(lanes, columns - c);
        float* const there = to + c / panel * panel * depth + c % panel;
        for (std::size_t k = 0; k < depth; ++k)
            put(there + k * panel, load(b + k * stride + c, some));
    }
}

struct tile {
    const float *a, *b;
    float* c;
    std::size_t c_stride, depth, columns;
    float alpha;
    bool adds; // to what c holds
};

template <int Rows, int Vectors>
void compute(const tile& t) {
    vec sums[Rows][Vectors] = {};
    for (int r = 0; r < Rows; ++r) // it is needed at the end
        __builtin_prefetch(t.c + r * t.c_stride, 1);
    const float *a = t.a, *b = t.b;
    for (std::size_t k = 0; k < t.depth; ++k, a += rows_max, b += panel) {
        vec right[Vectors];
        for (int v = 0; v < Vectors; ++v)
            right[v] = get(b + v * lanes);
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v)
                sums[r][v] += a[r] * right[v];
    }
    const std::size_t last = t.columns - (Vectors - 1) * lanes;
    for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < Vectors; ++v) {
            float* const to = t.c + r * t.c_stride + v * lanes;
            const std::size_t some = v + 1 < Vectors ? lanes : last;
            store(to, t.adds ? load(to, some) + t.alpha * sums[r][v] : t.alpha * sums[r][v], some);
        }
}

template <int Rows = rows_max>
void compute_rows(const tile& t, std::size_t rows) {
    if (rows < Rows) {
        if constexpr (Rows > 1)
            compute_rows<Rows - 1>(t, rows);
        return;
    }
    if (t.columns > lanes)
        compute<Rows, vectors_max>(t);
    else
        compute<Rows, 1>(t);
}

// Columns of c from `column` on, for one piece of k.
void multiply_piece(const matrix_product& p, std::size_t column, std::size_t k, std::size_t depth,
                    float* workspace) {
    float* const packed_a = workspace;
    float* const packed_b = workspace + packed_a_floats;
    const std::size_t columns = least(columns_max, p.n - column);
    pack_panels(p.b.first + k * p.b.stride + column, p.b.stride, depth, columns, packed_b);
    for (std::size_t row = 0; row < p.m; row += tiles_max * rows_max) {
        const strips tiles{least(tiles_max * rows_max, p.m - row)};
        pack_tiles(p.a.first + k * p.a.stride + row, p.a.stride, depth, tiles, packed_a);
        for (std::size_t c = 0; c < columns; c += panel)
            for (std::size_t i = 0; i < tiles.count; ++i) {
                const std::size_t first = tiles.first(i);
                compute_rows({packed_a + i * tile_floats, packed_b + c * depth,
                              p.c + (row + first) * p.c_stride + column + c, p.c_stride, depth,
                              least(panel, columns - c), p.alpha, k > 0 || p.beta != 0},
                             tiles.rows_of(i));
            }
    }
}

void multiply(const matrix_product& p, float* workspace) {
    const std::size_t pieces = (p.k + depth_max - 1) / depth_max;
    for (std::size_t column = 0; column < p.n; column += columns_max)
        for (std::size_t i = 0; i < pieces; ++i) {
            const std::size_t k = p.k * i / pieces;
            multiply_piece(p, column, k, p.k * (i + 1) / pieces - k, workspace);
        }
}

// oneDNN copies the factors of larger results, too, and then is as fast or, with few numbers to a sum, faster.
bool suits(const matrix_product& p) {
    const bool is_copied = p.m * p.n > 265 * (p.m + p.n);
    return lanes == 8 && p.a.transposed && p.a.stride % 512 == 0 && !p.b.transposed &&
           (p.beta == 0 || p.beta == 1) && p.n >= lanes && p.k >= (is_copied ? 96 : 32);
}

} // namespace

extern const product_loops TROUPE_PRODUCT_LOOPS;
const product_loops TROUPE_PRODUCT_LOOPS{suits, packed_a_floats + columns_max* depth_max, multiply};

} // namespace troupe::cpu

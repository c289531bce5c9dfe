// Small matrix products c = a b of packed factors, for loops that are compiled once per instruction set. All has internal
// linkage; see registers.hpp.
//
// A tile of the result is held in registers while it passes along the rows of b. Goto and van de Geijn 2008.
#pragma once

#include "kernels/cpu/registers.hpp"

namespace troupe::cpu {

namespace {

// Columns of b that lie beside one another where it is packed across.
constexpr std::size_t panel = vectors_max * lanes;

constexpr std::size_t rounded_up(std::size_t count, std::size_t unit) {
    return (count + unit - 1) / unit * unit;
}

// --- packing

struct rows_to_pack {
    const float* first;
    std::size_t stride, count, width;
    float factor = 1;
};

// Row after row, each filled up with zeros to whole vectors.
inline void pack_rows(const rows_to_pack& from, float* to) {
    const std::size_t whole = from.width / lanes * lanes;
    const float* row = from.first;
    for (std::size_t r = 0; r < from.count; ++r, row += from.stride) {
        for (std::size_t c = 0; c < whole; c += lanes, to += lanes)
            put(to, from.factor * get(row + c));
        if (whole < from.width) {
            put(to, from.factor * load(row + whole, from.width - whole));
            to += lanes;
        }
    }
}

// As many rows as there are lanes, from row r and column c on, with zeros where there is nothing.
inline void take_square(const rows_to_pack& from, std::size_t r, std::size_t c, ints* square) {
    const float* const first = from.first + r * from.stride + c;
    if (from.count - r >= lanes && from.width - c >= lanes) {
        for (std::size_t l = 0; l < lanes; ++l)
            square[l] = reinterpret_cast<ints>(from.factor * get(first + l * from.stride));
        return;
    }
    for (std::size_t l = 0; l < lanes; ++l)
        square[l] = r + l < from.count
                        ? reinterpret_cast<ints>(from.factor * load(first + l * from.stride,
                                                                    least(lanes, from.width - c)))
                        : ints{};
}

// Column after column of so many rows at a time, filled up with zeros to whole vectors; into `rows`, if given, as pack_rows
// does, filled up with zeros to as many rows as there are lanes.
template <std::size_t Rows>
inline void pack_across(const rows_to_pack& from, float* to, float* rows = nullptr) {
    static_assert(Rows % lanes == 0);
    const std::size_t row_width = rounded_up(from.width, lanes);
    for (std::size_t r = 0; r < from.count; r += lanes) {
        float* const there = to + r / Rows * Rows * from.width + r % Rows;
        for (std::size_t c = 0; c < from.width; c += lanes) {
            ints square[lanes];
            take_square(from, r, c, square);
            if (rows != nullptr)
                for (std::size_t l = 0; l < lanes; ++l)
                    put(rows + (r + l) * row_width + c, reinterpret_cast<vec>(square[l]));
            transpose(square);
            const std::size_t columns = least(lanes, from.width - c);
            for (std::size_t l = 0; l < columns; ++l)
                put(there + (c + l) * Rows, reinterpret_cast<vec>(square[l]));
        }
    }
}

// --- products

// Rows at a time: as evenly as tiles allow.
struct strips {
    std::size_t rows, count;

    explicit strips(std::size_t rows) : rows{rows}, count{(rows + rows_max - 1) / rows_max} {}
    std::size_t first(std::size_t strip) const { return rows * strip / count; }
    std::size_t rows_of(std::size_t strip) const { return first(strip + 1) - first(strip); }
};

// Element (row, k) of `a` is a[row * RowStride + k * StepStride].
template <std::size_t RowStride, std::size_t StepStride>
struct packed_product {
    std::size_t rows, columns, depth; // of c, c and along k; columns a multiple of `lanes`
    const float* a;
    const float* b;
    std::size_t b_step;  // from k to k
    std::size_t b_panel; // from panel to panel
    float* c;
    std::size_t c_row; // from row to row
    bool adds;         // to what c holds
    // Columns of row 0 that are wanted, and one more of each row after it; others may stay as they are.
    std::size_t first_sees = SIZE_MAX / 2;

    void run() const {
        const strips all{rows};
        for (std::size_t i = 0; i < all.count; ++i)
            run_rows(all.first(i), all.first(i + 1));
    }

  private:
    void run_rows(std::size_t row, std::size_t end) const {
        const std::size_t seen = first_sees + row; // by all of these rows
        for (std::size_t column = 0; column < columns; column += panel) {
            if (columns - column > lanes && column + lanes < seen) {
                run_tile<2>(row, end - row, column);
                continue;
            }
            for (std::size_t c = column; c < least(column + panel, columns); c += lanes) {
                const std::size_t seeing = c < seen ? row : c + 1 - first_sees;
                if (seeing < end)
                    run_tile<1>(seeing, end - seeing, c);
            }
        }
    }

    template <int Vectors, int Rows = rows_max>
    void run_tile(std::size_t row, std::size_t count, std::size_t column) const {
        if (count == Rows)
            return multiply<Rows, Vectors>(row, column);
        if constexpr (Rows > 1)
            run_tile<Vectors, Rows - 1>(row, count, column);
    }

    template <int Rows, int Vectors>
    void multiply(std::size_t row, std::size_t column) const {
        const float* from_a = a + row * RowStride;
        const float* from_b = b + column / panel * b_panel + column % panel;
        float* const to = c + row * c_row + column;
        vec sums[Rows][Vectors];
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v)
                sums[r][v] = adds ? get(to + r * c_row + v * lanes) : vec{};
        for (std::size_t k = 0; k < depth; ++k, from_a += StepStride, from_b += b_step) {
            vec right[Vectors];
            for (int v = 0; v < Vectors; ++v)
                right[v] = get(from_b + v * lanes);
            for (int r = 0; r < Rows; ++r)
                for (int v = 0; v < Vectors; ++v)
                    sums[r][v] += from_a[r * RowStride] * right[v];
        }
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v)
                put(to + r * c_row + v * lanes, sums[r][v]);
    }
};

} // namespace

} // namespace troupe::cpu

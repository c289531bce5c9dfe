// Compiled several times, with TROUPE_DENSE_COLUMN_LOOPS naming the table; see kernels/cpu/loops.cpp for what it must not
// use.
#include "kernels/columns/dense_column_loops.hpp"

#include "kernels/columns/wide_sums.hpp"
#include "kernels/cpu/registers.hpp"

namespace troupe::columns {

namespace {

// Rows are filled up with zeros to a multiple of so many.
constexpr std::size_t unit = 16;

// Rows at a time, such that their part of r stays in the second-level cache while the columns pass.
constexpr std::size_t block_rows = 1 << 15;

// Columns at a time: they share what is read of r, memory delivers several streams faster than one, and their sums find
// registers.
constexpr int at_once = 4;

// Floats that are fetched before they are needed, which hides what memory takes to answer.
constexpr std::size_t ahead = 512;

const float* column_of(const dense_view& x, const column_list& set, std::size_t i) {
    return x.first + number_of(set, i) * x.stride;
}

// Some columns from a row on.
struct some_columns {
    const float* columns[at_once];
    double factors[at_once];
};

// Calls f with a number of columns that is known when the loops are compiled; not for none.
template <int Columns>
struct number_of_columns {
    static constexpr int value = Columns;
};
template <int Columns = at_once, class Function>
void with_number(std::size_t count, Function f) {
    if (count == Columns)
        return f(number_of_columns<Columns>{});
    if constexpr (Columns > 1)
        with_number<Columns - 1>(count, f);
}

// Calls f(row, rows, r) for blocks of whole units of rows, the last filled up with zeros. Where f changes r, the last is
// copied back.
template <bool Changes, class Number, class Function>
void for_each_block(std::size_t rows, Number* r, Function f) {
    const std::size_t whole = rows / unit * unit;
    for (std::size_t row = 0; row < whole; row += block_rows)
        f(row, least(block_rows, whole - row), r + row);
    if (whole == rows)
        return;
    double last[unit] = {};
    for (std::size_t i = whole; i < rows; ++i)
        last[i - whole] = r[i];
    f(whole, unit, last);
    if constexpr (Changes)
        for (std::size_t i = whole; i < rows; ++i)
            r[i] = last[i - whole];
}

// ---- sums over rows ----

// Terms of a sum over a column: its values, their squares, or their products with r.
enum class term { value, square, product };

template <term Term, int Columns>
void add_sums(const some_columns& some, std::size_t rows, const double* r, double* sums) {
    wide running_sums[Columns][parts] = {};
    const float* columns[Columns];
    for (int c = 0; c < Columns; ++c)
        columns[c] = some.columns[c];
    for (std::size_t i = 0; i < rows; i += unit) {
        for (int c = 0; c < Columns; ++c)
            __builtin_prefetch(columns[c] + i + ahead);
        for (std::size_t u = 0; u < unit; u += running)
            for (std::size_t p = 0; p < parts; ++p) {
                const std::size_t at = i + u + p * width;
                const wide factor = Term == term::product ? get(r + at) : wide{};
                for (int c = 0; c < Columns; ++c) {
                    const wide v = widened(columns[c] + at);
                    running_sums[c][p] += Term == term::value    ? v
                                          : Term == term::square ? v * v
                                                                 : v * factor;
                }
            }
    }
    for (int c = 0; c < Columns; ++c)
        sums[c] += total_of(running_sums[c]);
}

template <term Term>
void add_all_sums(const dense_view& x, const column_list& set, std::size_t row, std::size_t rows,
                  const double* r, double* sums) {
    for (std::size_t i = 0; i < set.count; i += at_once) {
        const std::size_t count = least(at_once, set.count - i);
        some_columns some;
        for (std::size_t c = 0; c < count; ++c)
            some.columns[c] = column_of(x, set, i + c) + row;
        with_number(count, [&](auto number) {
            add_sums<Term, decltype(number)::value>(some, rows, r, sums + i);
        });
    }
}

void zero(double* x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        x[i] = 0;
}

void products(const dense_view& x, const column_list& set, const double* r, double* products) {
    zero(products, set.count);
    for_each_block<false>(x.rows, r, [&](std::size_t row, std::size_t rows, const double* part) {
        add_all_sums<term::product>(x, set, row, rows, part, products);
    });
}

template <term Term>
void sum_each(const dense_view& x, const column_list& set, double* sums) {
    zero(sums, set.count);
    const std::size_t rows = (x.rows + unit - 1) / unit * unit; // zeros behind the last
    for (std::size_t row = 0; row < rows; row += block_rows)
        add_all_sums<Term>(x, set, row, least(block_rows, rows - row), nullptr, sums);
}

// ---- adding columns ----

template <int Columns>
void add_columns(const some_columns& some, std::size_t rows, double* r) {
    for (std::size_t i = 0; i < rows; i += unit) {
        for (int c = 0; c < Columns; ++c)
            __builtin_prefetch(some.columns[c] + i + ahead);
        for (std::size_t p = 0; p < unit; p += width) {
            wide sum = get(r + i + p);
            for (int c = 0; c < Columns; ++c)
                sum += some.factors[c] * widened(some.columns[c] + i + p);
            put(r + i + p, sum);
        }
    }
}

void add(const dense_view& x, const column_list& set, const double* coefficients, double* r) {
    for_each_block<true>(x.rows, r, [&](std::size_t row, std::size_t rows, double* part) {
        some_columns some;
        std::size_t count = 0;
        for (std::size_t i = 0; i < set.count; ++i) {
            if (coefficients[i] == 0)
                continue;
            some.columns[count] = column_of(x, set, i) + row;
            some.factors[count] = coefficients[i];
            if (++count == at_once) {
                add_columns<at_once>(some, rows, part);
                count = 0;
            }
        }
        with_number(count,
                    [&](auto number) { add_columns<decltype(number)::value>(some, rows, part); });
    });
}

// ---- placing rows ----

// Floats of a tile of rows that is checked and transposed while it is in the second-level cache.
constexpr std::size_t tile_floats = 1 << 16;

bool all_finite(const float* x, std::size_t count) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::int32_t bits;
        __builtin_memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        largest = bits > largest ? bits : largest;
    }
    return largest < 0x7f800000;
}

void transpose_square(const float* from, std::size_t from_stride, float* to,
                      std::size_t to_stride) {
    cpu::ints square[cpu::lanes];
    for (std::size_t l = 0; l < cpu::lanes; ++l)
        square[l] = reinterpret_cast<cpu::ints>(cpu::get(from + l * from_stride));
    cpu::transpose(square);
    for (std::size_t l = 0; l < cpu::lanes; ++l)
        cpu::put(to + l * to_stride, reinterpret_cast<cpu::vec>(square[l]));
}

// So many rows and columns at the most; each row of `from` has `from_stride` floats.
void transpose_tile(const rows_to_place& tile, std::size_t from_stride) {
    const std::size_t whole_rows = tile.rows / cpu::lanes * cpu::lanes;
    const std::size_t whole_columns = tile.columns / cpu::lanes * cpu::lanes;
    for (std::size_t c = 0; c < whole_columns; c += cpu::lanes)
        for (std::size_t r = 0; r < whole_rows; r += cpu::lanes)
            transpose_square(tile.from + r * from_stride + c, from_stride,
                             tile.to + c * tile.stride + r, tile.stride);
    for (std::size_t r = 0; r < tile.rows; ++r)
        for (std::size_t c = r < whole_rows ? whole_columns : 0; c < tile.columns; ++c)
            tile.to[c * tile.stride + r] = tile.from[r * from_stride + c];
}

bool place(const rows_to_place& block) {
    if (block.columns == 0)
        return true;
    const std::size_t fitting = tile_floats / block.columns / unit * unit;
    const std::size_t tile_rows = fitting > 0 ? fitting : unit;
    for (std::size_t row = 0; row < block.rows; row += tile_rows) {
        rows_to_place tile = block;
        tile.from += row * block.columns;
        tile.to += row;
        tile.rows = least(tile_rows, block.rows - row);
        if (!all_finite(tile.from, tile.rows * tile.columns))
            return false;
        transpose_tile(tile, block.columns);
    }
    return true;
}

} // namespace

extern const dense_column_loops TROUPE_DENSE_COLUMN_LOOPS;
const dense_column_loops TROUPE_DENSE_COLUMN_LOOPS{products, add, sum_each<term::square>,
                                                   sum_each<term::value>, place};

} // namespace troupe::columns

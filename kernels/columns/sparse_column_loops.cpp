// Compiled several times, with TROUPE_SPARSE_COLUMN_LOOPS naming the table; see kernels/cpu/loops.cpp for what it must not
// use.
#include "kernels/columns/sparse_column_loops.hpp"

#include "kernels/columns/wide_sums.hpp"

namespace troupe::columns {

namespace {

// A column's entries.
struct entry_range {
    std::int64_t first;
    const float* values;
    std::size_t count;
};

entry_range entries_of(const sparse_view& x, const column_list& set, std::size_t i) {
    const std::int64_t* const starts = x.starts + number_of(set, i);
    return {starts[0], x.values + starts[0], static_cast<std::size_t>(starts[1] - starts[0])};
}

// Calls f with the row numbers of all entries.
template <class Function>
void with_rows(const sparse_view& x, Function f) {
    if (x.rows <= short_rows_max)
        f(static_cast<const std::uint16_t*>(x.row_numbers));
    else
        f(static_cast<const std::int32_t*>(x.row_numbers));
}

// The sum of what f gives at each of so many places, in four running sums.
template <class Function>
double sum(std::size_t count, Function f) {
    double sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (std::size_t s = 0; s < 4; ++s)
            sums[s] += f(i + s);
    for (; i < count; ++i)
        sums[0] += f(i);
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

void products(const sparse_view& x, const column_list& set, const double* r, double* products) {
    with_rows(x, [&](const auto* all) {
        for (std::size_t i = 0; i < set.count; ++i) {
            const entry_range column = entries_of(x, set, i);
            const auto* const rows = all + column.first;
            products[i] = sum(column.count, [&](std::size_t e) {
                return static_cast<double>(column.values[e]) * r[rows[e]];
            });
        }
    });
}

void add(const sparse_view& x, const column_list& set, const double* coefficients, double* r) {
    with_rows(x, [&](const auto* all) {
        for (std::size_t i = 0; i < set.count; ++i) {
            if (coefficients[i] == 0)
                continue;
            const entry_range column = entries_of(x, set, i);
            const auto* const rows = all + column.first;
            for (std::size_t e = 0; e < column.count; ++e)
                r[rows[e]] += coefficients[i] * static_cast<double>(column.values[e]);
        }
    });
}

void squares(const sparse_view& x, const column_list& set, double* squares) {
    for (std::size_t i = 0; i < set.count; ++i) {
        const entry_range column = entries_of(x, set, i);
        squares[i] = sum(column.count, [&](std::size_t e) {
            const auto value = static_cast<double>(column.values[e]);
            return value * value;
        });
    }
}

void sums(const sparse_view& x, const column_list& set, double* sums) {
    for (std::size_t i = 0; i < set.count; ++i) {
        const entry_range column = entries_of(x, set, i);
        sums[i] =
            sum(column.count, [&](std::size_t e) { return static_cast<double>(column.values[e]); });
    }
}

// ---- products of columns ----

// A line in vectors of float64.
constexpr std::size_t unit = left_columns_max;
constexpr std::size_t line_parts = unit / width;

struct row_range {
    std::int64_t begin, end;
};

// Calls f(line, value) for the entries of a column in a range of rows, and moves its place behind them.
template <class Row, class Function>
void for_each_entry(const sparse_gram_task& task, const Row* row_of, std::int64_t& place,
                    std::int64_t end, row_range rows, Function f) {
    std::int64_t e = place;
    for (; e < end && row_of[e] < rows.end; ++e)
        f(task.lines + (row_of[e] - rows.begin) * static_cast<std::int64_t>(unit),
          task.x.values[e]);
    place = e;
}

// False if the left columns have no entries there.
template <class Row>
bool scatter(const sparse_gram_task& task, const Row* row_of, row_range rows) {
    bool any = false;
    for (std::size_t i = 0; i < task.left.count; ++i) {
        std::int64_t place = task.places[i];
        for_each_entry(task, row_of, place, task.x.starts[number_of(task.left, i) + 1], rows,
                       [&](float* line, float value) { line[i] = value; });
        any |= place != task.places[i];
    }
    return any;
}

template <class Row>
void clear(const sparse_gram_task& task, const Row* row_of, row_range rows) {
    for (std::size_t i = 0; i < task.left.count; ++i)
        for_each_entry(task, row_of, task.places[i], task.x.starts[number_of(task.left, i) + 1],
                       rows, [&](float* line, float) { line[i] = 0; });
}

// In the order of the rows, whatever the ranges.
template <class Row>
void meet(const sparse_gram_task& task, const Row* row_of, row_range rows) {
    for (std::size_t j = 0; j < task.right.count; ++j) {
        std::int64_t& place = task.places[task.left.count + j];
        const std::int64_t end = task.x.starts[number_of(task.right, j) + 1];
        while (place < end && row_of[place] < rows.begin)
            ++place; // rows in which the left columns have no entries
        if (place == end || row_of[place] >= rows.end)
            continue;
        double* const to = task.sums + j * unit;
        wide totals[line_parts];
        for (std::size_t p = 0; p < line_parts; ++p)
            totals[p] = get(to + p * width);
        for_each_entry(task, row_of, place, end, rows, [&](const float* line, float value) {
            const auto factor = static_cast<double>(value);
            for (std::size_t p = 0; p < line_parts; ++p)
                totals[p] += factor * widened(line + p * width); // the product is exact
        });
        for (std::size_t p = 0; p < line_parts; ++p)
            put(to + p * width, totals[p]);
    }
}

void gram(const sparse_gram_task& task) {
    for (std::size_t i = 0; i < task.left.count; ++i)
        task.places[i] = task.x.starts[number_of(task.left, i)];
    for (std::size_t j = 0; j < task.right.count; ++j)
        task.places[task.left.count + j] = task.x.starts[number_of(task.right, j)];
    for (std::size_t i = 0; i < task.right.count * unit; ++i)
        task.sums[i] = 0;
    const auto all = static_cast<std::int64_t>(task.x.rows);
    const auto step = static_cast<std::int64_t>(line_rows);
    with_rows(task.x, [&](const auto* row_of) {
        for (std::int64_t row = 0; row < all; row += step) {
            const row_range rows{row, row + step};
            if (scatter(task, row_of, rows)) {
                meet(task, row_of, rows);
                clear(task, row_of, rows);
            }
        }
    });
}

} // namespace

extern const sparse_column_loops TROUPE_SPARSE_COLUMN_LOOPS;
const sparse_column_loops TROUPE_SPARSE_COLUMN_LOOPS{products, add, squares, sums, gram};

} // namespace troupe::columns

// Data matrices for tests of columns, made of the same values in both forms.
#pragma once

#include <memory>
#include <vector>

#include "kernels/columns/dense_columns.hpp"
#include "kernels/columns/sparse_columns.hpp"
#include "schemas/base/random.hpp"

namespace troupe::test {

// Row after row.
struct row_values {
    matrix_size size;
    std::vector<float> values;

    const float* row(std::size_t i) const { return values.data() + i * size.columns; }
};

// A share of the values is not 0; every fifth column is 0, and so is every seventh row.
inline row_values random_rows(matrix_size size, double share, std::uint64_t seed) {
    random_stream random{seed};
    row_values rows{size, std::vector<float>(size.rows * size.columns)};
    for (std::size_t i = 0; i < size.rows; ++i)
        for (std::size_t j = 0; j < size.columns; ++j) {
            const auto value = static_cast<float>(random.normal());
            if (random.uniform() < share && i % 7 != 6 && j % 5 != 4)
                rows.values[i * size.columns + j] = value;
        }
    return rows;
}

// The entries of all rows.
struct entry_rows {
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> columns;
    std::vector<float> values;

    sparse_rows all() const { return {starts, columns, values}; }
    // Of the same arrays.
    sparse_rows part(std::size_t first, std::size_t count) const {
        return {std::span{starts}.subspan(first, count + 1), columns, values};
    }
};

inline entry_rows entries_of(const row_values& rows) {
    entry_rows entries{{0}, {}, {}};
    for (std::size_t i = 0; i < rows.size.rows; ++i) {
        for (std::size_t j = 0; j < rows.size.columns; ++j)
            if (const float value = rows.row(i)[j]; value != 0) {
                entries.columns.push_back(static_cast<std::int32_t>(j));
                entries.values.push_back(value);
            }
        entries.starts.push_back(static_cast<std::int64_t>(entries.values.size()));
    }
    return entries;
}

// In pieces of so many rows.
inline std::unique_ptr<const dense_columns> dense_of(memory_pool& pool, const row_values& rows,
                                                     std::size_t piece) {
    auto builder = dense_columns_builder::make(pool, rows.size);
    TROUPE_CHECK(builder.ok(), "the pool is large enough");
    for (std::size_t i = 0; i < rows.size.rows; i += piece) {
        const std::size_t count = std::min(piece, rows.size.rows - i);
        TROUPE_CHECK(builder->append(count, {rows.row(i), count * rows.size.columns}).ok(),
                     "the rows are good");
    }
    auto made = builder->finish();
    TROUPE_CHECK(made.ok(), "all rows have arrived");
    return std::move(*made);
}

inline std::unique_ptr<const sparse_columns> sparse_of(memory_pool& pool, const row_values& rows,
                                                       std::size_t piece) {
    const entry_rows entries = entries_of(rows);
    auto builder = sparse_columns_builder::make(pool, rows.size);
    TROUPE_CHECK(builder.ok(), "the pool is large enough");
    for (std::size_t i = 0; i < rows.size.rows; i += piece)
        TROUPE_CHECK(builder->append(entries.part(i, std::min(piece, rows.size.rows - i))).ok(),
                     "the rows are good");
    auto made = builder->finish();
    TROUPE_CHECK(made.ok(), "all rows have arrived");
    return std::move(*made);
}

inline std::vector<double> random_numbers(std::size_t count, std::uint64_t seed) {
    random_stream random{seed};
    std::vector<double> numbers(count);
    for (double& number : numbers)
        number = random.normal();
    return numbers;
}

} // namespace troupe::test

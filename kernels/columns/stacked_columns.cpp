#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/columns/builder_checks.hpp"
#include "kernels/columns/sparse_columns.hpp"

namespace troupe {

namespace {

error broken(std::size_t part, const char* what) {
    return {errc::data, "part " + std::to_string(part) + " of the columns: " + what};
}

// Starts first: entries are read by them.
result<void> check_starts(const column_entries& part, std::size_t number, std::size_t columns) {
    if (part.starts.size() != columns + 1 || part.starts.front() != 0 ||
        !std::ranges::is_sorted(part.starts) ||
        static_cast<std::uint64_t>(part.starts.back()) != part.values.size() ||
        part.row_numbers.size() != part.values.size())
        return broken(number, "it has other sizes than its columns' starts say");
    return {};
}

bool do_ascend(std::span<const std::int32_t> row_numbers, std::size_t rows) {
    std::int64_t last = -1;
    for (const std::int32_t row : row_numbers) {
        if (row <= last || static_cast<std::uint64_t>(row) >= rows)
            return false;
        last = row;
    }
    return true;
}

std::span<const std::int32_t> rows_of(const column_entries& part, std::size_t column) {
    const auto begin = static_cast<std::size_t>(part.starts[column]);
    return part.row_numbers.subspan(begin,
                                    static_cast<std::size_t>(part.starts[column + 1]) - begin);
}

// One part below the other.
template <class Row>
result<void> fill(std::span<const column_entries> parts, std::size_t columns,
                  const sparse_memory& to, Row* row) {
    auto* const starts = reinterpret_cast<std::int64_t*>(to.starts->data());
    auto* value = reinterpret_cast<float*>(to.values->data());
    starts[0] = 0;
    for (std::size_t j = 0; j < columns; ++j) {
        starts[j + 1] = starts[j];
        std::size_t first = 0; // row of the part
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const auto rows = rows_of(parts[p], j);
            const auto values =
                parts[p].values.subspan(static_cast<std::size_t>(parts[p].starts[j]), rows.size());
            if (!do_ascend(rows, parts[p].rows))
                return broken(p, "its rows do not ascend, or are not the matrix's");
            if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); }))
                return broken(p, "a value is infinite or NaN");
            row = std::ranges::transform(rows, row, [&](std::int32_t r) {
                      return static_cast<Row>(first + static_cast<std::size_t>(r));
                  }).out;
            value = std::ranges::copy(values, value).out;
            starts[j + 1] += static_cast<std::int64_t>(rows.size());
            first += parts[p].rows;
        }
    }
    return {};
}

} // namespace

result<std::unique_ptr<const sparse_columns>>
sparse_columns::stacked(memory_pool& pool, std::span<const column_entries> parts) {
    matrix_size size;
    std::size_t entries = 0;
    if (!parts.empty() && !parts.front().starts.empty())
        size.columns = parts.front().starts.size() - 1;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        if (auto good = check_starts(parts[p], p, size.columns); !good)
            return good.failure();
        size.rows += parts[p].rows;
        entries += parts[p].values.size();
    }
    if (auto allowed = columns::check_size(size); !allowed)
        return allowed.failure();
    auto memory = sparse_memory::allocate(pool, size, entries);
    if (!memory)
        return memory.failure();
    auto filled = memory->with_rows(size.rows, [&](auto* row_numbers) {
        return fill(parts, size.columns, *memory, row_numbers);
    });
    if (!filled)
        return filled.failure();
    return std::unique_ptr<const sparse_columns>{new sparse_columns{size, std::move(*memory)}};
}

} // namespace troupe

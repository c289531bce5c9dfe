// What must hold of every matrix that is read.
#pragma once

#include <cmath>

#include "actors/data/matrix/matrix_source.hpp"
#include "actors/data/matrix/table_rows.hpp"
#include "tests/fuzz/target.hpp"

namespace troupe::fuzz {

inline void check_row(const matrix_source& source, const row_block& block, std::uint32_t row) {
    const std::size_t entries = source.row_entries(block.first_row + row);
    if (!source.shape().is_sparse)
        return;
    const auto first = static_cast<std::size_t>(block.starts[row]);
    TROUPE_CHECK(static_cast<std::size_t>(block.starts[row + 1]) == first + entries,
                 "a row has the entries that were counted");
    for (std::size_t i = first; i < first + entries; ++i)
        TROUPE_CHECK(block.indices[i] > (i == first ? -1 : block.indices[i - 1]) &&
                         static_cast<std::uint64_t>(block.indices[i]) < source.shape().columns,
                     "columns ascend and are there");
}

inline void check_block(const matrix_source& source, const row_block& block) {
    const matrix_shape& shape = source.shape();
    TROUPE_CHECK(block.rows > 0 && block.first_row + block.rows <= shape.rows, "rows are there");
    TROUPE_CHECK(block.targets.size() == (shape.has_targets ? block.rows : 0), "targets are there");
    TROUPE_CHECK(block.starts.size() == (shape.is_sparse ? block.rows + std::size_t{1} : 0) &&
                     block.indices.size() == (shape.is_sparse ? block.values.size() : 0),
                 "entries are where they are said to be");
    TROUPE_CHECK(shape.is_sparse || block.values.size() == block.rows * shape.columns,
                 "dense rows are full");
    for (const double value : block.values)
        TROUPE_CHECK(std::isfinite(value), "values are finite");
    for (const double target : block.targets)
        TROUPE_CHECK(std::isfinite(target), "targets are finite");
    for (std::uint32_t row = 0; row < block.rows; ++row)
        check_row(source, block, row);
}

// Reads the rows twice, in blocks of some bytes and of others; whether there are any.
inline bool check_matrix(result<matrix_source> source) {
    constexpr std::uint64_t blocks_max =
        64; // a matrix may say that it has many rows without entries
    if (!source) {
        check_refusal(source.failure());
        return false;
    }
    const matrix_shape& shape = source->shape();
    TROUPE_CHECK(shape.rows > 0 && shape.columns > 0, "a matrix has rows and columns");
    TROUPE_CHECK(shape.column_names.empty() || shape.column_names.size() == shape.columns,
                 "all columns have names or none");
    for (const std::uint64_t bytes_max : {std::uint64_t{100}, std::uint64_t{1} << 20}) {
        std::uint64_t rows = 0, entries = 0, blocks = 0;
        for (; blocks < blocks_max; ++blocks) {
            const auto block = source->next(bytes_max);
            TROUPE_CHECK(block.ok(), "what was read once is read again");
            if (!*block)
                break;
            TROUPE_CHECK((*block)->first_row == rows, "rows come in order");
            rows += (*block)->rows;
            entries += (*block)->values.size();
            check_block(*source, **block);
        }
        TROUPE_CHECK(blocks == blocks_max || (rows == shape.rows && entries == shape.entries),
                     "all rows come");
        TROUPE_CHECK(source->rewind().ok(), "a matrix can be read again");
    }
    return true;
}

// The same of a format's rows.
inline bool check_rows(result<std::unique_ptr<table_rows>> rows) {
    if (rows)
        return check_matrix(matrix_source::open(std::move(*rows)));
    check_refusal(rows.failure());
    return false;
}

template <class Rows>
bool check_rows(result<Rows> rows) {
    if (rows)
        return check_matrix(matrix_source::open(std::make_unique<Rows>(std::move(*rows))));
    check_refusal(rows.failure());
    return false;
}

} // namespace troupe::fuzz

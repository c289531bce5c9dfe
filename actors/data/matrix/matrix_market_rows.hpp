// Reader of the Matrix Market's exchange format, plain or gzip: text that begins with
//
//     %%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric
//
// then has comments (%), a line with the numbers of rows, columns and, for coordinate, entries, and a line for each
// number: ROW COLUMN VALUE from 1, without VALUE for pattern, which stands for ones; or, for array, VALUE alone, column
// by column. Of a symmetric matrix the file has the lower triangle. Coordinates are sparse, arrays dense; both are held
// in memory. Complex, skew-symmetric and Hermitian matrices are refused, and so are entries that are there twice.
//
// Errors: as in line_reader.hpp. Source: Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR 5935 (1996).
#pragma once

#include "actors/data/matrix/table_rows.hpp"

namespace troupe {

// Whether the text, the beginning of a file, looks so.
bool looks_like_matrix_market(std::string_view text);

result<std::unique_ptr<table_rows>> open_matrix_market_rows(const std::string& path);

} // namespace troupe

// The rows of one file, in order: what a format of matrix_source.hpp implements.
#pragma once

#include <optional>
#include <string_view>

#include "actors/data/matrix/matrix_source.hpp"

namespace troupe {

// The properties of a matrix that are known before its rows are read.
struct table_form {
    bool is_sparse = false;
    bool has_targets = false; // each row comes with one
    // None: as many as the rows show, which must be sparse.
    std::optional<std::uint64_t> columns;
    std::vector<std::string> column_names;

    bool operator==(const table_form&) const = default;
};

// The sentence for a file that a later pass finds changed.
inline constexpr std::string_view file_changed =
    "the file is another one than at first; leave it alone while it is read";

class table_rows {
  public:
    virtual ~table_rows() = default;

    virtual const table_form& form() const noexcept = 0;
    // Appends the next row to the block's values and, as the form says, indices (ascending, less than columns) and
    // targets. The caller keeps the rest of the block. False after the last row, and if nothing follows it in the file.
    virtual result<bool> append_row(row_block& to) = 0;
    // Begins again at the first row.
    virtual result<void> rewind() = 0;
    // Notes on what may not be intended, a sentence each.
    virtual std::vector<std::string> notes() const { return {}; }
    // At the place of the row that was read last.
    virtual error fail(std::string_view sentence) const = 0;
};

} // namespace troupe

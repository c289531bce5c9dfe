// A matrix of numbers in files, with a target for each row or without: what programs such as Lasso or logistic regression
// are given. It is read row by row, block by block, so that whoever reads can deal rows to others without holding them.
//
// Formats, told apart by what the file of the features begins with; all but archives plain or gzip:
//
//   NumPy          FILE.npy or FILE.npz:MEMBER, two dimensions, C or Fortran order, of whole numbers up to 8 bytes,
//                  floats up to f8, or truth values (npy_rows.hpp)
//   SciPy          FILE.npz of scipy.sparse.save_npz: csr, csc, coo (scipy_rows.hpp)
//   CSV            separated by commas, semicolons or tabs, with the names of the columns or without (csv_rows.hpp)
//   libsvm         lines LABEL INDEX:VALUE ... (libsvm_rows.hpp)
//   Matrix Market  coordinate and array (matrix_market_rows.hpp)
//   IDX            images as rows of pixels, 0 to 255 (idx_rows.hpp)
//
// Features and targets are float64; numbers that are not equal to one are rounded, and features that are too large for
// float32 refused. Constant and equal columns, rows without entries and stored zeros are kept as they are.
//
// Memory: files in the order of rows are read anew in every pass, and no more of them is held than a block. What is not
// in this order is held as long as the source is: Fortran order and Matrix Market's arrays as float64, 8 bytes for each
// number stored (of symmetric arrays that is half of them); csc, coo and Matrix Market's coordinates sorted, 16 bytes for
// each entry. Further held are the targets that have a file of their own (8 bytes a row) and, if sparse, counts (4 bytes
// a row and column).
//
// Errors: errc::data "FILE: line N: SENTENCE" for text and "FILE: byte OFFSET: SENTENCE" for other files, one line that
// says what to do; errc::io if a file cannot be read; errc::usage for settings that do not fit the file; errc::exhausted
// if memory does not suffice. All begin with the key in the app file of the file concerned, if it is given.
//
// Threads: each source belongs to one thread at a time; it blocks on files, so it is not for an actor's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/data/files/content_hash.hpp"
#include "actors/data/files/file_names.hpp"
#include "actors/data/matrix/data_rule.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

class column_spreads;
class table_rows;

// The first of some columns, and how many there are.
struct few_columns {
    std::vector<std::size_t> first;
    std::size_t count = 0;
};

struct matrix_shape {
    std::uint64_t rows = 0;    // at least 1, at most limits::matrix_rows_max
    std::uint64_t columns = 0; // of features; at least 1, at most limits::matrix_columns_max
    std::uint64_t entries = 0; // if sparse those in the file, else rows x columns
    bool is_sparse = false;
    bool has_targets = false;
    std::optional<double> same_target;     // that all rows have
    std::vector<std::string> column_names; // one for each column, printable; or none
    // To subtract from each column before it becomes float32 (column_spreads.hpp), 0 where it is sparse and has zeros that
    // are not stored; empty: nothing.
    std::vector<double> offsets;
    // Whether what float32 leaves is to be kept: its user takes it, there may be any, and no sparse column is coarse.
    bool has_remainders = false;
    // Columns of which too little is kept, less the offset, for want of digits of either (column_spreads.hpp); and the most
    // that float32 loses of one, as a share of its spread.
    few_columns coarse_in_float32, coarse_in_float64;
    double lost_share_max = 0;
};

// Some rows that follow each other.
struct row_block {
    std::uint64_t first_row = 0;
    std::uint32_t rows = 0;
    // Dense: rows x columns, row by row. Sparse: of all entries, row by row.
    std::vector<double> values;
    // Sparse alone: row r has the entries starts[r] to starts[r + 1] - 1, rows + 1 numbers that begin with 0; and the
    // columns of the entries, from 0, ascending within a row.
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> indices;
    std::vector<double> targets; // one a row, or none if there are no targets
};

struct matrix_settings {
    named_file features;
    // A vector of NumPy (FILE.npy, FILE.npz:MEMBER), labels in IDX, or text with one number a line; then a libsvm file's
    // labels are left out. Its path is empty if the targets are in the features' file, or if there are none.
    named_file targets;
    // The column of a CSV file with the targets, which is then none of the features: its name in the header, else its
    // number from 0, or from the end: -1 is the last. Empty: none.
    std::string target_column;
    // Whether the first line of a CSV file has the names of the columns. Not given: it is guessed (csv_header.hpp).
    std::optional<bool> has_header;
    // If not, the column is passed over, whatever it holds, and there are no targets; it may be missing, and the file be of
    // another format. A number names one of any CSV file.
    bool needs_target_column = true;
    // Whether its user can do with columns less a number each: then the shape says which.
    bool takes_offsets = false;
    // Whether its user keeps what float32 leaves of the numbers, too: then the shape says whether there is any.
    bool takes_remainders = false;
    data_rule* rule = nullptr; // asked once, while the files are opened; null: there is none
};

class matrix_source {
  public:
    // Takes other rows than those in files: reads them all once, checks them and counts.
    static result<matrix_source> open(std::unique_ptr<table_rows> rows);
    matrix_source(matrix_source&&) noexcept;
    matrix_source& operator=(matrix_source&&) noexcept;
    ~matrix_source();

    const matrix_shape& shape() const noexcept { return shape_; }
    // Notes on what may not be intended in the files, a sentence each, which begins with the key of the file.
    const std::vector<std::string>& notes() const noexcept { return notes_; }
    // For sharing out work and columns. Dense: all of them. `row` and `column` are within the shape.
    std::uint64_t row_entries(std::uint64_t row) const;
    std::uint64_t column_entries(std::uint64_t column) const;
    // The digest of all numbers in the rows, and of the targets that have a file of their own: it tells whether data is the
    // same as it was. All dense formats give the same, and all sparse ones. `digest` is of features rounded to float32,
    // which was all that former builds read.
    std::uint64_t exact_digest() const { return digests_.at(shape_.rows); }
    std::uint64_t digest() const { return rounded_.value(); }
    std::uint64_t targets_digest() const;

    // The rows that follow: as many as fit `bytes_max` bytes of a block's arrays, but at least one; none after the last.
    // After an error, as when a row is another one than in an earlier pass, the source is of no use.
    result<std::optional<row_block>> next(std::uint64_t bytes_max);
    // Begins again at the first row.
    result<void> rewind();

  private:
    friend result<matrix_source> open_matrix(const matrix_settings& settings);
    explicit matrix_source(std::unique_ptr<table_rows> rows);
    // `has_own_targets`: they are in the rows, and nowhere else.
    result<void> survey(const matrix_settings& settings, bool has_own_targets);
    result<void> count(const row_block& row, column_spreads& spreads);
    void find_offsets(column_spreads spreads, const matrix_settings& settings);
    std::uint64_t row_bytes(std::uint64_t row) const;
    std::uint32_t rows_that_fit(std::uint64_t bytes_max) const;
    result<row_block> read_block(std::uint32_t rows);
    result<void> append_row(row_block& to);
    error no_memory() const;

    std::unique_ptr<table_rows> rows_;
    std::vector<double> targets_; // of a file of their own
    matrix_shape shape_;
    std::vector<std::string> notes_;
    // Up to the last one that has any.
    std::vector<std::uint32_t> row_entries_;
    std::vector<std::uint32_t> column_entries_;
    std::uint64_t next_row_ = 0;
    content_hash passed_;  // of the rows before next_row_
    content_hash rounded_; // of all, as digest() says
    std::map<std::uint64_t, std::uint64_t>
        digests_;     // of so many rows, as an earlier pass found them
    std::string key_; // of the features' file
};

// Opens the files that are named, reads all rows once, checks them and counts.
result<matrix_source> open_matrix(const matrix_settings& settings);

} // namespace troupe

// Pieces of a data set as payloads: what a worker is dealt, in the order of rows.
//
// A piece of a matrix has four tensors:
//
//     0  starts   int64, rows + 1: where each row begins in 1 and 2; empty if the matrix is dense
//     1  indices  int32: columns, rising within a row; empty if it is dense
//     2  values   float32; of a dense matrix rows x columns, row by row
//     3  targets  float64, rows; zeros if the data has none
//
// Where float32 does not hold the numbers in the file, and the program takes what it leaves (program::takes_remainders), a
// fifth follows:
//
//     4  remainders  float32, as many as values: what is to be added to each, in float64
//
// Documents are a sparse matrix of counts, a row for each and a column for each word of the vocabulary; ratings one of users
// and items. Data may have entries that are held out: a piece has three more tensors then, like 0 to 2, of the same rows.
//
// Threads: values. Errors: errc::protocol for what is not such a piece; numbers are checked by the reader of the file, and
// by whoever builds columns from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/scheduled/payload.hpp"
#include "actors/scheduled/run_settings.hpp"

namespace troupe::scheduled {

struct matrix_piece {
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> indices;
    std::span<const float> values;
    std::span<const double> targets;
    std::span<const float> remainders; // of the values, or none: all are 0

    // The number in the file, less the offset of its column.
    double number(std::size_t entry) const noexcept {
        return static_cast<double>(values[entry]) +
               (remainders.empty() ? 0.0 : static_cast<double>(remainders[entry]));
    }
    std::uint64_t rows() const noexcept { return targets.size(); }
    bool is_sparse() const noexcept { return !starts.empty(); }
};

// Views into the tensors of `piece`, with sizes that agree; `columns`: of the matrix.
result<matrix_piece> read_matrix_piece(const payload& piece, std::uint64_t columns);
// The entries that are held out, without targets; none if the data has none.
result<std::optional<matrix_piece>> read_held_out(const payload& piece, std::uint64_t columns);

// Rows of the data, in order.
struct rows_piece {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    payload tensors;
};

// A run that goes on knows its data by this: whatever the file is called then, it must hold the same.
struct data_digest {
    std::string key;  // of the app file: "data.matrix.features"
    std::string file; // that it names
    std::uint64_t value = 0;
    // The digest of the numbers as they are, which `value` knows rounded to float32; none where it has no rounding.
    std::optional<std::uint64_t> exact = {};
    // Is dealt with digits that builds which wrote no `exact` did not keep: less offsets, or with remainders.
    bool has_more_digits = false;
};

// The source of a run's data. Blocks on files, so it is not for an actor's thread; one thread at a time.
class piece_source {
  public:
    virtual ~piece_source() = default;

    virtual data_shape shape() const = 0;
    virtual std::uint64_t row_entries(std::uint64_t row) const { return row_work(row); } // stored
    // Work that a row, or a column, makes: its entries; of documents, the words in them.
    virtual std::uint64_t row_work(std::uint64_t row) const = 0;
    virtual std::uint64_t column_work(std::uint64_t column) const = 0;
    virtual std::vector<std::string> column_names() const { return {}; } // none, or one a column
    virtual std::vector<std::string> row_names() const { return {}; }    // none, or one a row
    // A digest for each file of the app file. Errors name the first that differs: one that others follow from comes first.
    virtual std::vector<data_digest> digests() const { return {}; }
    // Notes for the user on how the data was read, as sentences: "data.KEY: ...".
    virtual std::vector<std::string> notes() const { return {}; }

    // The rows that follow, at most so many and a few MiB of them; none after the last. In memory of `memory`.
    virtual result<std::optional<rows_piece>> next(std::uint64_t rows_max, memory_pool& memory) = 0;
    virtual result<void> rewind() = 0;
    // Offsets that are subtracted from columns before values are dealt, in float64; empty: none. For programs that take it
    // (program::takes_offsets). Of a sparse matrix, columns with zeros that are not stored have the offset 0.
    virtual std::vector<double> offsets() const { return {}; }
};

// Deals rows to workers by their shares: reads the source in order, passes over rows of workers that do not want theirs, and
// begins anew where a share does.
class share_dealer {
  public:
    // `shares`: ranges of rows, none of them empty, each of which begins where the one before it ends, or at 0.
    share_dealer(std::shared_ptr<piece_source> source, std::vector<number_range> shares)
        : source_{std::move(source)}, shares_{std::move(shares)} {}

    struct dealt {
        std::uint32_t worker = 0;
        bool is_last = false; // of its share
        payload tensors;
    };

    // Begins at the first row, for the workers that are wanted.
    result<void> begin(std::vector<bool> wanted);
    // None when all wanted shares have been dealt. Blocks.
    result<std::optional<dealt>> next(memory_pool& memory);

  private:
    result<void> go_to_next_share();

    std::shared_ptr<piece_source> source_;
    std::vector<number_range> shares_;
    std::vector<bool> wanted_;
    std::uint32_t worker_ = 0; // whose share comes next
    std::uint64_t row_ = 0;    // that comes next
};

} // namespace troupe::scheduled

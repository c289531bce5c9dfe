// Matrices whose files are not in the order of rows, held in memory. No source has both them and their files' bytes.
//
// Threads: each object belongs to one thread at a time.
#pragma once

#include <span>

#include "actors/data/matrix/table_rows.hpp"

namespace troupe {

// One number of a sparse matrix, with its place from 0.
struct matrix_entry {
    std::uint32_t row = 0;
    std::int32_t column = 0;
    double value = 0;
};

struct held_form {
    std::string place; // "FILE: byte 0" or "FILE: line 1", for errors
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
};

// Why a matrix of this form cannot be held with so many numbers of so many bytes, and what to do, as a sentence; empty if
// it can.
std::string why_not_held(const held_form& form, std::uint64_t numbers, std::size_t number_bytes);

// Entries of a file in any order, sorted once.
class held_entries final : public table_rows {
  public:
    // Reserves memory for so many entries, which are added before the first row is read.
    held_entries(held_form form, std::uint64_t entries);

    void add(const matrix_entry& entry) { entries_.push_back(entry); }
    // Sorts them; the first that is there twice, if there is one.
    std::optional<matrix_entry> sort();

    const table_form& form() const noexcept override { return form_; }
    result<bool> append_row(row_block& to) override;
    result<void> rewind() override;
    error fail(std::string_view sentence) const override;

  private:
    held_form held_;
    table_form form_;
    std::vector<matrix_entry> entries_;
    std::uint64_t row_ = 0;
    std::size_t next_ = 0; // the entry that comes next
};

// A dense matrix, column by column. Of a symmetric one each column begins at the diagonal.
class held_columns final : public table_rows {
  public:
    // Reserves memory for its numbers, which are added in the order of the file before the first row is read.
    held_columns(held_form form, bool is_symmetric);
    static std::uint64_t numbers(const held_form& form, bool is_symmetric) noexcept;

    void add(double value) { values_.push_back(value); }
    void add(std::span<const double> values) {
        values_.insert(values_.end(), values.begin(), values.end());
    }

    const table_form& form() const noexcept override { return form_; }
    result<bool> append_row(row_block& to) override;
    result<void> rewind() override;
    error fail(std::string_view sentence) const override;

  private:
    double at(std::uint64_t row, std::uint64_t column) const;

    held_form held_;
    table_form form_;
    bool is_symmetric_;
    std::vector<double> values_;
    std::uint64_t row_ = 0;
};

} // namespace troupe

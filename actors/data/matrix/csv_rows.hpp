// Reader of CSV: text with a row a line and its numbers separated by commas, semicolons or tabs, plain or gzip.
//
// The first line decides: a tab in it separates, else a semicolon, else a comma; what is in "double quotes", as RFC 4180
// has them (csv_cells.hpp), does not count. Whether it has the names of the columns is guessed where the settings do not say
// it (csv_header.hpp). Names and numbers may be quoted, and have blanks around them, and "# " before the first name is no
// part of it. Blank lines are passed over. Rows are dense, and all of one length. Missing numbers are refused.
//
// Errors: as in line_reader.hpp; errc::usage for a target column that the file has not. Columns count from 0 in messages, as
// in matrix_settings::target_column.
#pragma once

#include "actors/data/files/line_reader.hpp"
#include "actors/data/matrix/table_rows.hpp"

namespace troupe {

struct csv_settings {
    std::string path;
    std::string target_column; // as in matrix_settings, all
    std::optional<bool> has_header;
    bool needs_target_column = true;
};

class csv_rows final : public table_rows {
  public:
    static result<csv_rows> open(const csv_settings& settings);

    const table_form& form() const noexcept override { return form_; }
    result<bool> append_row(row_block& to) override;
    result<void> rewind() override;
    error fail(std::string_view sentence) const override { return lines_.fail(sentence); }
    // Why the first line may be another one than it is taken for; empty without doubt, or where the settings say it.
    const std::string& doubt() const noexcept { return doubt_; }
    std::vector<std::string> notes() const override;
    // The count of numbers in a line.
    std::size_t width() const noexcept { return width_; }
    // The number of the line that was read last.
    std::uint64_t line() const noexcept { return lines_.line(); }

  private:
    csv_rows(csv_settings settings, line_reader lines)
        : settings_{std::move(settings)}, lines_{std::move(lines)} {}
    result<std::optional<std::string_view>> next_record();
    result<void> read_first_line();
    void guess_header(const std::string& first);
    result<void> choose_target(const std::vector<std::string>& names);
    result<void> skip_header();
    // The targets, if nobody needs them: the cell may hold anything.
    bool is_passed_over(std::size_t cell) const noexcept {
        return cell == target_ && !settings_.needs_target_column;
    }
    // Numbers of a column that are written with more digits than float64 has.
    struct long_numbers {
        std::string first; // empty: there is none
        double value = 0;
        bool have_one_text = true;
        bool have_one_value = true;
    };
    void look_at_long(std::size_t cell, std::string_view written, double number);
    std::string column_name(std::size_t cell) const;
    error wrong_number(std::size_t cell, std::string_view text) const;
    error wrong_width(std::size_t numbers) const;

    csv_settings settings_;
    line_reader lines_;
    std::string joined_; // a record of several lines
    table_form form_;
    std::string doubt_;
    std::string name_before_number_; // the note on a target column that could be meant by number
    std::vector<long_numbers> long_; // by cell, of all rows so far; empty: there are none
    char separator_ = '\0';          // until the first line has been read
    bool has_header_ = false;
    std::size_t width_ = 0;             // the target included
    std::optional<std::size_t> target_; // its place in a line
};

} // namespace troupe

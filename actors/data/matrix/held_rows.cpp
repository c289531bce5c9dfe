#include "actors/data/matrix/held_rows.hpp"

#include <algorithm>

#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

error fail_at(const std::string& place, std::string_view sentence) {
    return {errc::data, (place + ": ").append(sentence)};
}

table_form form_of(const held_form& held, bool is_sparse) {
    return {.is_sparse = is_sparse, .columns = held.columns};
}

} // namespace

std::string why_not_held(const held_form& form, std::uint64_t numbers, std::size_t number_bytes) {
    if (form.rows == 0 || form.columns == 0)
        return "a matrix without rows or columns; save one that has both";
    if (form.rows > limits::matrix_rows_max || form.columns > limits::matrix_columns_max)
        return "a matrix of " + std::to_string(form.rows) + " x " + std::to_string(form.columns) +
               "; at most " + std::to_string(limits::matrix_rows_max) + " rows and " +
               std::to_string(limits::matrix_columns_max) + " columns are read";
    if (numbers > limits::dataset_bytes_max / number_bytes)
        return std::to_string(numbers) + " numbers that are not in the order of rows; at most " +
               std::to_string(limits::dataset_bytes_max / number_bytes) +
               " can be held, so save them row by row";
    return {};
}

// --- entries

held_entries::held_entries(held_form form, std::uint64_t entries)
    : held_{std::move(form)}, form_{form_of(held_, true)} {
    entries_.reserve(entries);
}

std::optional<matrix_entry> held_entries::sort() {
    const auto place = [](const matrix_entry& e) {
        return std::uint64_t{e.row} << 32 | static_cast<std::uint32_t>(e.column);
    };
    if (!std::ranges::is_sorted(entries_, {}, place))
        std::ranges::sort(entries_, {}, place);
    const auto twice = std::ranges::adjacent_find(entries_, {}, place);
    return twice == entries_.end() ? std::nullopt : std::optional{*twice};
}

result<bool> held_entries::append_row(row_block& to) {
    if (row_ == held_.rows)
        return false;
    for (; next_ < entries_.size() && entries_[next_].row == row_; ++next_) {
        to.indices.push_back(entries_[next_].column);
        to.values.push_back(entries_[next_].value);
    }
    ++row_;
    return true;
}

result<void> held_entries::rewind() {
    row_ = 0;
    next_ = 0;
    return {};
}

error held_entries::fail(std::string_view sentence) const {
    return fail_at(held_.place, sentence);
}

// --- columns

held_columns::held_columns(held_form form, bool is_symmetric)
    : held_{std::move(form)}, form_{form_of(held_, false)}, is_symmetric_{is_symmetric} {
    values_.reserve(numbers(held_, is_symmetric));
}

std::uint64_t held_columns::numbers(const held_form& form, bool is_symmetric) noexcept {
    return is_symmetric ? form.rows * (form.rows + 1) / 2 : form.rows * form.columns;
}

double held_columns::at(std::uint64_t row, std::uint64_t column) const {
    if (!is_symmetric_)
        return values_[column * held_.rows + row];
    if (row < column)
        std::swap(row, column);
    // The columns before it have rows, rows - 1, ... numbers.
    return values_[column * held_.rows - column * (column + 1) / 2 + row];
}

result<bool> held_columns::append_row(row_block& to) {
    if (row_ == held_.rows)
        return false;
    for (std::uint64_t column = 0; column < held_.columns; ++column)
        to.values.push_back(at(row_, column));
    ++row_;
    return true;
}

result<void> held_columns::rewind() {
    row_ = 0;
    return {};
}

error held_columns::fail(std::string_view sentence) const {
    return fail_at(held_.place, sentence);
}

} // namespace troupe

// How far the numbers of each column are from one another; and what is subtracted from a column before its numbers become
// float32, so that what they lose is small beside that spread and not beside the numbers.
//
//     column_spreads all;
//     all.add(values);                        // for each row
//     all.end(rows);
//     all.offset(j);                          // subtract it in float64, where the user can do with that
//     all.kept(j, offset);                    // whether too much is lost nevertheless
//
// Rows are added one by one: B. P. Welford, "Note on a method for calculating corrected sums of squares and products",
// Technometrics 4 (1962).
//
// Memory: 24 bytes a column. Threads: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

// Whether a column is kept to a millionth of its spread; and if not, where the digits end.
enum class kept_digits : std::uint8_t {
    enough,
    few_of_float32, // in which numbers are kept
    few_of_float64, // in which they are read and summed
};

class column_spreads {
  public:
    void add(std::span<const double> row); // dense, all of one length
    // An entry of a sparse column, which has so many with it.
    void add(std::size_t column, double value, std::uint32_t entries);
    // All have been added. Of sparse rows, `entries` says how many each column has: the others are zeros.
    void end(std::uint64_t rows);
    void end(std::uint64_t rows, std::span<const std::uint32_t> entries);

    std::size_t size() const noexcept { return means_.size(); }
    // A number near the mean, if that is far from 0 beside the spread, else 0. It has no digits that are far below the
    // spread, so that whole numbers less it are whole numbers; of a constant column it is that constant.
    double offset(std::size_t column) const noexcept;
    // Whether float32 holds all numbers of the column as they are.
    bool is_exact(std::size_t column) const noexcept { return lost_[column] == 0; }
    // How much of the column's spread is kept of the numbers less this offset. `keeps_remainders`: what float32 loses of
    // them is kept beside it, as float32. Of a constant column: whether float64 holds each whole number there, which it
    // does below 2^53.
    kept_digits kept(std::size_t column, double offset,
                     bool keeps_remainders = false) const noexcept;
    // The share of the spread that float32 loses of these numbers, by the root of the mean square of both. 0 of a constant
    // column.
    double lost_share(std::size_t column, double offset,
                      bool keeps_remainders = false) const noexcept;

  private:
    double deviation(std::size_t column) const noexcept;

    std::uint64_t rows_ = 0;
    std::vector<double> means_;
    std::vector<double> squares_; // of the distances from the mean, summed
    std::vector<double> lost_;    // squares of what float32 loses of the numbers themselves, summed
};

} // namespace troupe

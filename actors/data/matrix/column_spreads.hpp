// How far the numbers of each column are from one another; and what is subtracted from a column before its numbers become
// float32, so that what they lose is small beside that spread and not beside the numbers.
//
//     column_spreads all;
//     all.add(values);                        // for each row
//     all.end(rows);
//     all.offset(j);                          // subtract it in float64, where the user can do with that
//     all.is_coarse(j, offset);               // too much is lost nevertheless
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
    // Whether float32 of the numbers less this offset, or sums of float64 of these, are off by more than a millionth of the
    // spread; and whether the column is constant where float64 does not hold each whole number, from 2^53 on.
    // `keeps_remainders`: what float32 loses is kept beside it.
    bool is_coarse(std::size_t column, double offset, bool keeps_remainders = false) const noexcept;

  private:
    double deviation(std::size_t column) const noexcept;

    std::uint64_t rows_ = 0;
    std::vector<double> means_;
    std::vector<double> squares_; // of the distances from the mean, summed
    std::vector<double> lost_;    // squares of what float32 loses of the numbers themselves, summed
};

} // namespace troupe

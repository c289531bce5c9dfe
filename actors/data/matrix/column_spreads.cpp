#include "actors/data/matrix/column_spreads.hpp"

#include <cmath>
#include <limits>

namespace troupe {

namespace {

// Ratio of mean to deviation, in float32 and in its sums: below it float32 loses at most 3e-7 of the spread.
constexpr double offset_ratio = 4;
constexpr double lost_max = 1e-6; // as a share of the spread
// Float64 keeps the square of a deviation beside that of such a mean to a few digits only.
constexpr double sums_ratio = 1e6;

constexpr double whole_in_double = 9007199254740992; // 2^53: all whole numbers below it are exact

double lost_in_float(double value) noexcept {
    const double lost = value - static_cast<double>(static_cast<float>(value));
    return lost * lost;
}

} // namespace

void column_spreads::add(std::span<const double> row) {
    if (rows_++ == 0) {
        means_.resize(row.size());
        squares_.resize(row.size());
        lost_.resize(row.size());
    }
    const double share = 1 / static_cast<double>(rows_);
    double* const means = means_.data();
    double* const squares = squares_.data();
    double* const lost = lost_.data();
    for (std::size_t j = 0; j < row.size(); ++j) {
        const double apart = row[j] - means[j];
        means[j] = rows_ == 1 ? row[j] : means[j] + apart * share;
        squares[j] += apart * (row[j] - means[j]);
        lost[j] += lost_in_float(row[j]);
    }
}

void column_spreads::add(std::size_t column, double value, std::uint32_t entries) {
    if (column >= means_.size()) {
        means_.resize(column + 1);
        squares_.resize(column + 1);
        lost_.resize(column + 1);
    }
    const double apart = value - means_[column];
    means_[column] = entries == 1 ? value : means_[column] + apart / entries;
    squares_[column] += apart * (value - means_[column]);
    lost_[column] += lost_in_float(value);
}

void column_spreads::end(std::uint64_t rows) {
    rows_ = rows;
}

void column_spreads::end(std::uint64_t rows, std::span<const std::uint32_t> entries) {
    rows_ = rows;
    const auto all = static_cast<double>(rows);
    for (std::size_t j = 0; j < size(); ++j) {
        const double share = entries[j] / all;
        squares_[j] += entries[j] * (1 - share) * means_[j] * means_[j];
        means_[j] *= share;
    }
}

double column_spreads::deviation(std::size_t column) const noexcept {
    return std::sqrt(squares_[column] / static_cast<double>(rows_));
}

double column_spreads::offset(std::size_t column) const noexcept {
    const double mean = means_[column], spread = deviation(column);
    if (!(std::abs(mean) > offset_ratio * spread))
        return 0;
    int exponent = 0;
    std::frexp(spread, &exponent);
    const double step =
        std::ldexp(1.0, exponent - 1); // at most the spread, and more than half of it
    const double steps = std::nearbyint(mean / step);
    return step > 0 && spread > 0 && std::isfinite(steps) ? steps * step : mean;
}

double column_spreads::lost_share(std::size_t column, double offset,
                                  bool keeps_remainders) const noexcept {
    const double spread = deviation(column);
    if (spread <= 0)
        return 0;
    const bool is_rounded = offset == 0 && !keeps_remainders;
    const double lost = is_rounded
                            ? std::sqrt(lost_[column] / static_cast<double>(rows_))
                            : static_cast<double>(std::numeric_limits<float>::denorm_min()) / 4;
    return lost / spread;
}

kept_digits column_spreads::kept(std::size_t column, double offset,
                                 bool keeps_remainders) const noexcept {
    const double spread = deviation(column), mean = std::abs(means_[column]);
    if (spread <= 0) // numbers that differ in the file may be equal in float64
        return mean >= whole_in_double ? kept_digits::few_of_float64 : kept_digits::enough;
    if (lost_share(column, offset, keeps_remainders) > lost_max)
        return kept_digits::few_of_float32;
    const bool is_too_far =
        offset == 0 ? spread * sums_ratio < mean
                    : mean * std::numeric_limits<double>::epsilon() / 4 > lost_max * spread;
    return is_too_far ? kept_digits::few_of_float64 : kept_digits::enough;
}

} // namespace troupe

// Exact fractions of 64-bit numbers, for times of schedules. Values; a result that does not fit is a bug of the caller, who
// bounds what it computes with.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/base/check.hpp"

namespace troupe {

class fraction {
  public:
    constexpr fraction(std::int64_t whole = 0) : over_{whole} {}
    constexpr fraction(std::int64_t over, std::int64_t under) : over_{over}, under_{under} {
        TROUPE_CHECK(under > 0, "a fraction has a denominator above zero");
        const std::int64_t common = std::gcd(over, under);
        over_ /= common;
        under_ /= common;
    }

    constexpr std::int64_t over() const noexcept { return over_; }
    constexpr std::int64_t under() const noexcept { return under_; } // above zero, in lowest terms
    double approximate() const noexcept {
        return static_cast<double>(over_) / static_cast<double>(under_);
    }

    friend constexpr bool operator==(fraction, fraction) = default;
    friend constexpr bool operator<(fraction a, fraction b) {
        return times(a.over_, b.under_) < times(b.over_, a.under_);
    }
    friend constexpr bool operator<=(fraction a, fraction b) { return !(b < a); }
    friend constexpr fraction operator+(fraction a, fraction b) {
        return {plus(times(a.over_, b.under_), times(b.over_, a.under_)),
                times(a.under_, b.under_)};
    }
    friend constexpr fraction operator-(fraction a, fraction b) {
        return a + fraction{-b.over_, b.under_};
    }
    friend constexpr fraction operator*(fraction a, fraction b) {
        const std::int64_t left = std::gcd(a.over_, b.under_);
        const std::int64_t right = std::gcd(b.over_, a.under_);
        return {times(a.over_ / left, b.over_ / right), times(a.under_ / right, b.under_ / left)};
    }
    friend constexpr fraction operator/(fraction a, fraction b) {
        TROUPE_CHECK(b.over_ != 0, "nothing is divided by zero");
        return a * (b.over_ > 0 ? fraction{b.under_, b.over_} : fraction{-b.under_, -b.over_});
    }

  private:
    static constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
        std::int64_t product = 0;
        TROUPE_CHECK(!__builtin_mul_overflow(a, b, &product), "times are bounded");
        return product;
    }
    static constexpr std::int64_t plus(std::int64_t a, std::int64_t b) {
        std::int64_t sum = 0;
        TROUPE_CHECK(!__builtin_add_overflow(a, b, &sum), "times are bounded");
        return sum;
    }

    std::int64_t over_ = 0;
    std::int64_t under_ = 1;
};

// "29/2"; "3" for a whole number.
std::string to_string(fraction f);

// Reads a decimal number from 0 to 1000000 with at most six digits behind the point, exactly; none where it is anything
// else.
std::optional<fraction> read_decimal(std::string_view text);

} // namespace troupe

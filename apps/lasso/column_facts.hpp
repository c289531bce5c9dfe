// Facts of a column as a whole, and the column that the model sees: centred if there is an intercept, and then
// scaled to unit norm if data.scale says so. Pure values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace troupe::lasso {

struct column_form {
    double rows = 0;
    bool is_centred = false;
    bool has_unit_norm = false;
};

struct column_facts {
    double mean = 0;    // that is subtracted: 0 without an intercept
    double square = 0;  // of the norm, after that; 0 of a constant column, which is never used
    double scale = 1;   // the model's column is this one, centred, divided by it
    double entries = 0; // that are stored, of a sparse column

    double curvature() const noexcept { return square / (scale * scale); } // of the model's column
};

// A difference between these two, relative to the square of the column, up to this is rounding.
inline constexpr double constant_share = 1e-12;

inline column_facts facts_of(double sum, double square, const column_form& form) noexcept {
    column_facts facts;
    if (form.is_centred)
        facts.mean = sum / form.rows;
    const double centred = square - facts.mean * sum;
    facts.square = centred > constant_share * square ? centred : 0.0;
    if (form.has_unit_norm && facts.square > 0)
        facts.scale = std::sqrt(facts.square);
    return facts;
}

inline column_facts facts_of_centred(double mean, double square, const column_form& form) noexcept {
    return {mean, square, form.has_unit_norm && square > 0 ? std::sqrt(square) : 1.0, 0};
}

// Facts of the same column with other weights of the rows, whose sum is form.rows: what it is scaled by stays, and a column
// that is not constant has a curvature, however little the weights leave of it.
inline column_facts reweighted(const column_facts& facts, double sum, double square,
                               const column_form& form) noexcept {
    constexpr double least = 1e-280;
    if (facts.square <= 0)
        return facts;
    const double mean = form.is_centred ? sum / form.rows : 0.0;
    return {mean, std::max({square - mean * sum, constant_share * square, least}), facts.scale,
            facts.entries};
}

// Whether the model's coefficient of such a column is what rounding has left of none, as where a column is there twice: what
// it adds to the residual is below the digits of a target in float64. `null_objective`: where all coefficients are 0.
inline bool is_rounding(double value, const column_facts& facts, double null_objective) noexcept {
    constexpr double least = 1e-13;
    return std::abs(value) * std::sqrt(facts.curvature()) <= least * std::sqrt(2 * null_objective);
}

// The model's products of columns are those of the columns scaled, less the product of these.
inline double scaled_mean(const column_facts& facts, double rows) noexcept {
    return std::sqrt(rows) * facts.mean / facts.scale;
}

} // namespace troupe::lasso

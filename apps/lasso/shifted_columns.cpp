#include "apps/lasso/shifted_columns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace troupe::lasso {

namespace {

constexpr std::size_t rows_at_once = 256;

// The shift of each column: its mean where that is far from 0, in float32 so that the difference is exact for
// values near it. Empty if there is no such column.
std::vector<double> shifts_for(const shifted_columns& columns) {
    const std::size_t count = columns.kept().columns();
    const auto rows = static_cast<double>(columns.rows());
    std::vector<double> shifts(count), sums(count), squares(count);
    columns.sums(columns.kept().all(), sums);
    columns.squares(columns.kept().all(), squares);
    bool is_any = false;
    for (std::size_t j = 0; j < count && rows > 0; ++j) {
        const double mean = sums[j] / rows;
        const double variance = squares[j] / rows - mean * mean;
        if (mean * mean > shifted_ratio * shifted_ratio * variance) {
            shifts[j] = static_cast<double>(static_cast<float>(mean));
            is_any = is_any || shifts[j] != 0;
        }
    }
    return is_any ? shifts : std::vector<double>{};
}

// A copy with these numbers subtracted.
result<std::unique_ptr<const dense_columns>>
without(memory_pool& memory, const dense_columns& columns, const std::vector<double>& shifts) {
    auto builder = dense_columns_builder::make(memory, {columns.rows(), columns.columns()});
    if (!builder)
        return builder.failure();
    const std::size_t count = columns.columns();
    std::vector<float> block;
    for (std::size_t first = 0; first < columns.rows(); first += rows_at_once) {
        const std::size_t rows = std::min(rows_at_once, columns.rows() - first);
        block.resize(rows * count);
        for (std::size_t j = 0; j < count; ++j) {
            const auto values = columns.values(j).subspan(first, rows);
            const auto shift = static_cast<float>(shifts[j]);
            for (std::size_t i = 0; i < rows; ++i)
                block[i * count + j] = values[i] - shift;
        }
        if (auto appended = builder->append(rows, block); !appended)
            return appended.failure();
    }
    return builder->finish();
}

} // namespace

shifted_columns::shifted_columns(std::unique_ptr<const column_matrix> columns, bool keeps_sums)
    : columns_{std::move(columns)}, weight_{static_cast<double>(columns_->rows())},
      kept_sums_(keeps_sums ? columns_->columns() : 0) {
    if (keeps_sums)
        columns_->sums(columns_->all(), kept_sums_);
}

result<shifted_columns> shifted_columns::of_dense(memory_pool& memory,
                                                  std::unique_ptr<const dense_columns> columns) {
    const dense_columns& as_read = *columns;
    shifted_columns plain{std::move(columns), true};
    std::vector<double> shifts = shifts_for(plain);
    if (shifts.empty())
        return plain;
    auto kept = without(memory, as_read, shifts);
    if (!kept)
        return kept.failure();
    shifted_columns made{std::move(*kept), true};
    made.shifts_ = std::move(shifts);
    return made;
}

result<shifted_columns> shifted_columns::weighted(memory_pool& memory,
                                                  std::span<const double> weights) const {
    std::vector<float> roots(weights.size());
    std::ranges::transform(weights, roots.begin(),
                           [](double w) { return static_cast<float>(std::sqrt(w)); });
    auto scaled = columns_->scaled(memory, roots);
    if (!scaled)
        return scaled.failure();
    shifted_columns made{std::move(*scaled)};
    made.kept_sums_.resize(columns_->columns());
    columns_->products(columns_->all(), weights, made.kept_sums_); // not of rounded roots
    made.weight_ = std::accumulate(weights.begin(), weights.end(), 0.0);
    made.shifts_ = shifts_;
    return made;
}

void shifted_columns::sums(const column_set& set, std::span<double> sums) const {
    if (kept_sums_.empty())
        return columns_->sums(set, sums);
    for (std::size_t i = 0; i < set.size(); ++i) {
        const double shift = is_shifted() ? shifts_[set[i]] : 0.0;
        sums[i] = kept_sums_[set[i]] + shift * weight_;
    }
}

void shifted_columns::squares(const column_set& set, std::span<double> squares) const {
    columns_->squares(set, squares);
    if (!is_shifted())
        return;
    for (std::size_t i = 0; i < set.size(); ++i) {
        const double shift = shifts_[set[i]];
        squares[i] += shift * (2 * kept_sums_[set[i]] + shift * weight_);
    }
}

void shifted_columns::products(const column_set& set, std::span<const double> r,
                               double residual_sum, std::span<double> products) const {
    columns_->products(set, r, products);
    if (is_shifted())
        for (std::size_t i = 0; i < set.size(); ++i)
            products[i] += shifts_[set[i]] * residual_sum;
}

void shifted_columns::add(const column_set& set, std::span<const double> coefficients,
                          std::span<double> r) const {
    columns_->add(set, coefficients, r);
    if (!is_shifted())
        return;
    double shifted = 0;
    for (std::size_t i = 0; i < set.size(); ++i)
        shifted += shifts_[set[i]] * coefficients[i];
    if (shifted != 0)
        for (double& x : r)
            x += shifted;
}

void shifted_columns::gram(const column_set& set, std::span<double> block,
                           column_workspace& memory) const {
    columns_->gram(set, block, memory);
    add_shifts({set, set}, block);
}

void shifted_columns::gram(const column_pairs& pairs, std::span<double> block,
                           column_workspace& memory) const {
    columns_->gram(pairs, block, memory);
    add_shifts(pairs, block);
}

void shifted_columns::add_shifts(const column_pairs& pairs, std::span<double> block) const {
    if (!is_shifted())
        return;
    for (std::size_t i = 0; i < pairs.left.size(); ++i)
        for (std::size_t k = 0; k < pairs.right.size(); ++k) {
            const std::size_t a = pairs.left[i], b = pairs.right[k];
            block[i * pairs.right.size() + k] += shifts_[a] * kept_sums_[b] +
                                                 shifts_[b] * kept_sums_[a] +
                                                 weight_ * shifts_[a] * shifts_[b];
        }
}

} // namespace troupe::lasso

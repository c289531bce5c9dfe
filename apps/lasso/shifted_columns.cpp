#include "apps/lasso/shifted_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace troupe::lasso {

namespace {

constexpr std::size_t rows_at_once = 256;

template <class Columns>
const Columns& as(const std::unique_ptr<const column_matrix>& columns) {
    return static_cast<const Columns&>(*columns);
}

// The shift of each column: its mean where that is far from 0, in float32 so that the difference is exact for
// values near it. Empty if there is no such column.
std::vector<double> shifts_for(const shifted_columns& columns) {
    const std::size_t count = columns.kept().columns();
    const auto rows = static_cast<double>(columns.rows());
    std::vector<double> shifts(count), sums(count), squares(count);
    columns.sums(columns.kept().all(), sums);
    columns.kept().squares(columns.kept().all(), squares);
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
result<split_columns> without(memory_pool& memory, const split_columns& columns,
                              const std::vector<double>& shifts) {
    const auto& values = as<dense_columns>(columns.values);
    const auto* const remainders = static_cast<const dense_columns*>(columns.remainders.get());
    const std::size_t count = values.columns();
    arriving_columns copy{memory, {values.rows(), count}, false};
    std::vector<float> kept, left;
    for (std::size_t first = 0; first < values.rows(); first += rows_at_once) {
        const std::size_t rows = std::min(rows_at_once, values.rows() - first);
        kept.resize(rows * count);
        left.resize(rows * count);
        bool is_any = false;
        for (std::size_t j = 0; j < count; ++j) {
            const auto value = values.values(j).subspan(first, rows);
            for (std::size_t i = 0; i < rows; ++i) {
                double number = static_cast<double>(value[i]) - shifts[j];
                if (remainders != nullptr)
                    number += static_cast<double>(remainders->values(j)[first + i]);
                const std::size_t at = i * count + j;
                kept[at] = static_cast<float>(number);
                left[at] = static_cast<float>(number - static_cast<double>(kept[at]));
                is_any = is_any || left[at] != 0;
            }
        }
        if (auto taken = copy.take(rows, kept, is_any ? left : std::span<const float>{}); !taken)
            return taken.failure();
    }
    return copy.finish();
}

// A term of what remainders e add to the square of a column: (x + e)'(x + e) = x'x + (2 x + e)'e.
double added_term(float x, float e) {
    return (2 * static_cast<double>(x) + static_cast<double>(e)) * static_cast<double>(e);
}

double added_square(std::span<const float> x, std::span<const float> e) {
    std::array<double, 8> sums{}; // so that no sum waits for the one before it
    std::size_t i = 0;
    for (; i + sums.size() <= x.size(); i += sums.size())
        for (std::size_t l = 0; l < sums.size(); ++l)
            sums[l] += added_term(x[i + l], e[i + l]);
    for (std::size_t l = 0; i < x.size(); ++i, ++l)
        sums[l] += added_term(x[i], e[i]);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// The remainders stand in rows in which there are values.
double added_square(const sparse_column& x, const sparse_column& e) {
    double sum = 0;
    for (std::size_t i = 0, k = 0; i < x.values.size() && k < e.values.size(); ++i)
        if (x.rows[i] == e.rows[k])
            sum += added_term(x.values[i], e.values[k++]);
    return sum;
}

// Adds what the operation writes for each column of a set.
template <class Operation>
void add_to(std::span<double> to, Operation operation) {
    std::vector<double> more(to.size());
    operation(std::span{more});
    std::ranges::transform(to, more, to.begin(), std::plus{});
}

} // namespace

shifted_columns::shifted_columns(split_columns columns, bool keeps_sums)
    : split_{std::move(columns)}, weight_{static_cast<double>(rows())} {
    if (!keeps_sums)
        return;
    std::vector<double> all(kept().columns());
    sums(kept().all(), all);
    kept_sums_ = std::move(all);
}

result<shifted_columns> shifted_columns::of_dense(memory_pool& memory, split_columns columns) {
    shifted_columns plain{std::move(columns), true};
    if (plain.has_exact_gram()) // and so are differences of its products
        return plain;
    std::vector<double> shifts = shifts_for(plain);
    if (shifts.empty())
        return plain;
    auto split = without(memory, plain.split_, shifts);
    if (!split)
        return split.failure();
    shifted_columns made{std::move(*split), true};
    made.shifts_ = std::move(shifts);
    return made;
}

result<shifted_columns> shifted_columns::weighted(memory_pool& memory,
                                                  std::span<const double> weights) const {
    std::vector<float> roots(weights.size());
    std::ranges::transform(weights, roots.begin(),
                           [](double w) { return static_cast<float>(std::sqrt(w)); });
    auto scaled = split_.values->scaled(memory, roots);
    if (!scaled)
        return scaled.failure();
    shifted_columns made{{std::move(*scaled), {}}};
    made.kept_sums_.resize(split_.values->columns());
    products(split_.values->all(), weights, 0, made.kept_sums_); // not of rounded roots
    made.weight_ = std::accumulate(weights.begin(), weights.end(), 0.0);
    made.shifts_ = shifts_;
    return made;
}

void shifted_columns::sums(const column_set& set, std::span<double> sums) const {
    if (kept_sums_.empty()) {
        split_.values->sums(set, sums);
        if (split_.remainders)
            add_to(sums, [&](std::span<double> more) { split_.remainders->sums(set, more); });
        return;
    }
    for (std::size_t i = 0; i < set.size(); ++i) {
        const double shift = is_shifted() ? shifts_[set[i]] : 0.0;
        sums[i] = kept_sums_[set[i]] + shift * weight_;
    }
}

void shifted_columns::squares(const column_set& set, std::span<double> squares) const {
    split_.values->squares(set, squares);
    if (split_.remainders)
        add_remainders(set, squares);
    if (!is_shifted())
        return;
    for (std::size_t i = 0; i < set.size(); ++i) {
        const double shift = shifts_[set[i]];
        squares[i] += shift * (2 * kept_sums_[set[i]] + shift * weight_);
    }
}

void shifted_columns::add_remainders(const column_set& set, std::span<double> squares) const {
    const auto* const values = dynamic_cast<const dense_columns*>(split_.values.get());
    for (std::size_t i = 0; i < set.size(); ++i)
        squares[i] += values != nullptr
                          ? added_square(values->values(set[i]),
                                         as<dense_columns>(split_.remainders).values(set[i]))
                          : added_square(as<sparse_columns>(split_.values).column(set[i]),
                                         as<sparse_columns>(split_.remainders).column(set[i]));
}

void shifted_columns::products(const column_set& set, std::span<const double> r,
                               double residual_sum, std::span<double> products) const {
    split_.values->products(set, r, products);
    if (split_.remainders)
        add_to(products,
               [&](std::span<double> more) { split_.remainders->products(set, r, more); });
    if (is_shifted())
        for (std::size_t i = 0; i < set.size(); ++i)
            products[i] += shifts_[set[i]] * residual_sum;
}

void shifted_columns::add(const column_set& set, std::span<const double> coefficients,
                          std::span<double> r) const {
    split_.values->add(set, coefficients, r);
    if (split_.remainders)
        split_.remainders->add(set, coefficients, r);
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
    split_.values->gram(set, block, memory);
    add_shifts({set, set}, block);
}

void shifted_columns::gram(const column_pairs& pairs, std::span<double> block,
                           column_workspace& memory) const {
    split_.values->gram(pairs, block, memory);
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

#include "kernels/columns/reference.hpp"

#include <vector>

namespace troupe::reference_columns {

namespace {

std::vector<double> column_of(const column_matrix& x, std::size_t column) {
    std::vector<float> values(x.rows());
    x.copy(column, values);
    return {values.begin(), values.end()};
}

double product(std::span<const double> x, std::span<const double> y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        sum += x[i] * y[i];
    return sum;
}

} // namespace

void products(const column_matrix& x, const column_set& set, std::span<const double> r,
              std::span<double> products) {
    for (std::size_t i = 0; i < set.size(); ++i)
        products[i] = product(column_of(x, set[i]), r);
}

void add(const column_matrix& x, const column_set& set, std::span<const double> coefficients,
         std::span<double> r) {
    for (std::size_t i = 0; i < set.size(); ++i) {
        const std::vector<double> column = column_of(x, set[i]);
        for (std::size_t row = 0; row < r.size(); ++row)
            r[row] += coefficients[i] * column[row];
    }
}

void gram(const column_matrix& x, const column_pairs& pairs, std::span<double> block) {
    const auto& [left, right] = pairs;
    for (std::size_t i = 0; i < left.size(); ++i)
        for (std::size_t j = 0; j < right.size(); ++j)
            block[i * right.size() + j] = product(column_of(x, left[i]), column_of(x, right[j]));
}

void squares(const column_matrix& x, const column_set& set, std::span<double> squares) {
    for (std::size_t i = 0; i < set.size(); ++i)
        squares[i] = product(column_of(x, set[i]), column_of(x, set[i]));
}

void sums(const column_matrix& x, const column_set& set, std::span<double> sums) {
    for (std::size_t i = 0; i < set.size(); ++i)
        sums[i] = product(column_of(x, set[i]), std::vector<double>(x.rows(), 1));
}

} // namespace troupe::reference_columns

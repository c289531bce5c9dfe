#include "kernels/columns/column_matrix.hpp"

#include <algorithm>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

constexpr const char* known = "the matrix has the columns of the set";
constexpr const char* one_per_row = "there is one number per row";
constexpr const char* one_per_column = "there is one number per column of the set";
constexpr const char* one_per_pair = "there is one number per pair of columns";

} // namespace

bool column_matrix::has(const column_set& set) const noexcept {
    const column_list list = set.list();
    if (list.numbers == nullptr)
        return list.first <= columns() && list.count <= columns() - list.first;
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < list.count; ++i)
        largest = largest < list.numbers[i] ? list.numbers[i] : largest;
    return list.count == 0 || largest < columns();
}

std::size_t column_matrix::entries(std::size_t column) const {
    TROUPE_CHECK(column < columns(), known);
    return count_entries(column);
}

void column_matrix::copy(std::size_t column, std::span<float> values) const {
    TROUPE_CHECK(column < columns(), known);
    TROUPE_CHECK(values.size() == rows(), one_per_row);
    write(column, values.data());
}

void column_matrix::products(const column_set& set, std::span<const double> r,
                             std::span<double> products) const {
    TROUPE_CHECK(has(set), known);
    TROUPE_CHECK(r.size() == rows(), one_per_row);
    TROUPE_CHECK(products.size() == set.size(), one_per_column);
    multiply(set.list(), r.data(), products.data());
}

void column_matrix::add(const column_set& set, std::span<const double> coefficients,
                        std::span<double> r) const {
    TROUPE_CHECK(has(set), known);
    TROUPE_CHECK(coefficients.size() == set.size(), one_per_column);
    TROUPE_CHECK(r.size() == rows(), one_per_row);
    add_columns(set.list(), coefficients.data(), r.data());
}

void column_matrix::gram(const column_pairs& pairs, std::span<double> block,
                         column_workspace& memory) const {
    TROUPE_CHECK(has(pairs.left) && has(pairs.right), known);
    TROUPE_CHECK(block.size() == pairs.left.size() * pairs.right.size(), one_per_pair);
    if (!block.empty())
        multiply_pairs(pairs.left.list(), pairs.right.list(), block.data(), memory);
}

void column_matrix::gram(const column_set& set, std::span<double> block,
                         column_workspace& memory) const {
    TROUPE_CHECK(has(set), known);
    const std::size_t count = set.size();
    TROUPE_CHECK(block.size() == count * count, one_per_pair);
    if (count == 0)
        return;
    multiply_among(set.list(), block.data(), memory);
}

void column_matrix::squares(const column_set& set, std::span<double> squares) const {
    TROUPE_CHECK(has(set), known);
    TROUPE_CHECK(squares.size() == set.size(), one_per_column);
    add_squares(set.list(), squares.data());
}

void column_matrix::sums(const column_set& set, std::span<double> sums) const {
    TROUPE_CHECK(has(set), known);
    TROUPE_CHECK(sums.size() == set.size(), one_per_column);
    add_values(set.list(), sums.data());
}

result<std::unique_ptr<const column_matrix>>
column_matrix::scaled(memory_pool& pool, std::span<const float> factors) const {
    TROUPE_CHECK(factors.size() == rows(), one_per_row);
    TROUPE_CHECK(std::ranges::all_of(factors, [](float f) { return f >= -1 && f <= 1; }),
                 "factors are between -1 and 1");
    return scale(pool, factors.data());
}

} // namespace troupe

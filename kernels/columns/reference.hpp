// The operations of column_matrix.hpp in plain loops over float64: the definition that the fast ones are
// tested against. Of any matrix; slow.
#pragma once

#include <span>

#include "kernels/columns/column_matrix.hpp"

namespace troupe::reference_columns {

void products(const column_matrix& x, const column_set& set, std::span<const double> r,
              std::span<double> products);
void add(const column_matrix& x, const column_set& set, std::span<const double> coefficients,
         std::span<double> r);
void gram(const column_matrix& x, const column_pairs& pairs, std::span<double> block);
void squares(const column_matrix& x, const column_set& set, std::span<double> squares);
void sums(const column_matrix& x, const column_set& set, std::span<double> sums);

} // namespace troupe::reference_columns

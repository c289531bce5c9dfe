// The products of sparse columns with one another, without those that are 0: of columns with few entries that are most.
//
//     sparse_products products{x, right};                    // reads the right columns once
//     products.with(left, found);                            // found: the products of one column with each of those
//
// Takes time for each pair of entries that meet in a row, and for each entry once; column_matrix::gram takes time for each
// entry and sixteen columns, and is faster if more than about a seventh of all entries are there. The bits are the same:
// sums are float64, in the order of the rows.
//
// Memory: 8 bytes for each entry of the right columns, 4 for each row. Threads: one; the columns must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/columns/sparse_columns.hpp"

namespace troupe {

class sparse_products {
  public:
    struct product {
        std::uint32_t right = 0; // its position in the set
        double value = 0;
    };

    sparse_products(const sparse_columns& columns, const column_set& right);

    // Appends the products of this column with the first `count` of the right ones that have a row in common with it, in the
    // order of the set.
    void with(std::size_t left, std::size_t count, std::vector<product>& found);

  private:
    struct entry {
        std::uint32_t right;
        float value;
    };

    const sparse_columns& columns_;
    std::vector<std::uint32_t> starts_; // of the rows, in entries_
    std::vector<entry> entries_;
    std::vector<double> sums_; // of the right columns
    std::vector<bool> is_met_; // of them
    std::vector<std::uint32_t> met_;
};

} // namespace troupe

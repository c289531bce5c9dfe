#include "kernels/columns/sparse_products.hpp"

#include <algorithm>
#include <numeric>

#include "schemas/base/check.hpp"

namespace troupe {

sparse_products::sparse_products(const sparse_columns& columns, const column_set& right)
    : columns_{columns}, starts_(columns.rows() + 1), sums_(right.size()), is_met_(right.size()) {
    TROUPE_CHECK(columns.has(right), "the matrix has the columns of the set");
    std::size_t count = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
        const row_number_list rows = columns.column(right[i]).rows;
        for (std::size_t e = 0; e < rows.size(); ++e)
            ++starts_[static_cast<std::size_t>(rows[e]) + 1];
        count += rows.size();
    }
    TROUPE_CHECK(count < UINT32_MAX, "fewer entries than four bytes can count");
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    entries_.resize(count);
    std::vector<std::uint32_t> next{starts_.begin(), starts_.end() - 1};
    for (std::size_t i = 0; i < right.size(); ++i) {
        const sparse_column column = columns.column(right[i]);
        for (std::size_t e = 0; e < column.rows.size(); ++e)
            entries_[next[static_cast<std::size_t>(column.rows[e])]++] = {
                static_cast<std::uint32_t>(i), column.values[e]};
    }
}

void sparse_products::with(std::size_t left, std::size_t count, std::vector<product>& found) {
    const sparse_column column = columns_.column(left);
    for (std::size_t e = 0; e < column.rows.size(); ++e) {
        const auto row = static_cast<std::size_t>(column.rows[e]);
        const auto value = static_cast<double>(column.values[e]);
        for (std::uint32_t at = starts_[row]; at < starts_[row + 1]; ++at) {
            const entry& other = entries_[at];
            if (other.right >= count)
                break; // entries of a row are in the order of the set
            sums_[other.right] += value * static_cast<double>(other.value);
            if (!is_met_[other.right])
                met_.push_back(other.right);
            is_met_[other.right] = true;
        }
    }
    std::ranges::sort(met_);
    for (const std::uint32_t right : met_) {
        found.push_back({right, sums_[right]});
        sums_[right] = 0;
        is_met_[right] = false;
    }
    met_.clear();
}

} // namespace troupe

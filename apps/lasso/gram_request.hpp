// Which products of columns with one another a phase asks the workers for, and what they answer. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::lasso {

// If they are asked for among themselves, the products of each of the rows with those before it in the list; and those of
// each row with every one of the columns. In this order: first (1, 0), (2, 0), (2, 1), (3, 0), ... of the rows, then for
// each row all columns.
struct gram_block {
    std::vector<std::int32_t> rows;
    std::vector<std::int32_t> columns;
    bool is_among = true;

    std::uint64_t pairs() const noexcept {
        return rows.empty() || !is_among ? 0 : rows.size() * (rows.size() - 1) / 2;
    }
    std::uint64_t entries() const noexcept { return pairs() + rows.size() * columns.size(); }

    friend bool operator==(const gram_block&, const gram_block&) = default;
};

using gram_request = std::vector<gram_block>;

inline std::uint64_t entries_of(const gram_request& request) noexcept {
    std::uint64_t entries = 0;
    for (const gram_block& block : request)
        entries += block.entries();
    return entries;
}

// A worker's products: all of them, or those that are not 0 with their numbers in the order above, which rise.
struct gram_part {
    std::span<const double> products;
    std::span<const std::int64_t> numbers; // none if they are all
    bool are_all = true;
};

} // namespace troupe::lasso

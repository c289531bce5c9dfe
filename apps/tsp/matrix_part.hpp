// The part of a matrix of lengths that a file of TSPLIB holds: EDGE_WEIGHT_FORMAT. Pure.
//
// Source: Reinelt, TSPLIB 95.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe::tsp {

// Which entries of a row of the matrix are written, by rows: of column formats, whose matrices are symmetric, those that
// come in the same order.
enum class matrix_part : std::uint8_t {
    all,
    above,
    above_with_diagonal,
    below,
    below_with_diagonal
};

// The one with this name, in capitals.
std::optional<matrix_part> part_named(std::string_view name);

struct columns {
    std::size_t first = 0;
    std::size_t end = 0;
};
columns columns_of(matrix_part what, std::size_t row, std::size_t cities) noexcept;

std::uint64_t entries_of(matrix_part what, std::uint64_t cities) noexcept;
// The number of cities whose matrix has so many entries; 0: none.
std::uint64_t cities_of(matrix_part what, std::uint64_t entries) noexcept;

} // namespace troupe::tsp

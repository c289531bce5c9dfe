#include "apps/tsp/matrix_part.hpp"

#include <algorithm>
#include <array>

#include "apps/tsp/tsp_limits.hpp"

namespace troupe::tsp {

namespace {

struct named_part {
    std::string_view name;
    matrix_part what;
};
constexpr std::array<named_part, 9> part_names{
    {{"FULL_MATRIX", matrix_part::all},
     {"UPPER_ROW", matrix_part::above},
     {"LOWER_ROW", matrix_part::below},
     {"UPPER_DIAG_ROW", matrix_part::above_with_diagonal},
     {"LOWER_DIAG_ROW", matrix_part::below_with_diagonal},
     {"UPPER_COL", matrix_part::below},
     {"LOWER_COL", matrix_part::above},
     {"UPPER_DIAG_COL", matrix_part::below_with_diagonal},
     {"LOWER_DIAG_COL", matrix_part::above_with_diagonal}}};

} // namespace

std::optional<matrix_part> part_named(std::string_view name) {
    const auto* const found = std::ranges::find(part_names, name, &named_part::name);
    return found == part_names.end() ? std::nullopt : std::optional{found->what};
}

columns columns_of(matrix_part what, std::size_t row, std::size_t cities) noexcept {
    switch (what) {
    case matrix_part::above:
        return {row + 1, cities};
    case matrix_part::above_with_diagonal:
        return {row, cities};
    case matrix_part::below:
        return {0, row};
    case matrix_part::below_with_diagonal:
        return {0, row + 1};
    default:
        return {0, cities};
    }
}

std::uint64_t entries_of(matrix_part what, std::uint64_t n) noexcept {
    if (what == matrix_part::all)
        return n * n;
    const bool has_diagonal =
        what == matrix_part::above_with_diagonal || what == matrix_part::below_with_diagonal;
    return n * (n - 1) / 2 + (has_diagonal ? n : 0);
}

std::uint64_t cities_of(matrix_part what, std::uint64_t entries) noexcept {
    for (std::uint64_t n = limits::cities_min; n <= limits::matrix_cities_max; ++n)
        if (entries_of(what, n) == entries)
            return n;
    return 0;
}

} // namespace troupe::tsp

// Shares of rows or variables of about the same work. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/scheduled/program.hpp"

namespace troupe::scheduled {

// `parts` contiguous ranges that cover all of `work` in order, with boundaries where the sum comes closest to equal shares.
// The largest share is above the mean by at most the largest single number. With fewer numbers than parts some are empty.
std::vector<number_range> balanced_ranges(std::span<const std::uint64_t> work, std::size_t parts);

} // namespace troupe::scheduled

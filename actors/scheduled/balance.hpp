// Shares of rows or variables of about the same work. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/scheduled/data_pieces.hpp"

namespace troupe::scheduled {

// `parts` contiguous ranges that cover all of `work` in order, with boundaries where the sum comes closest to equal shares.
// The largest share is above the mean by at most the largest single number. With fewer numbers than parts some are empty.
std::vector<number_range> balanced_ranges(std::span<const std::uint64_t> work, std::size_t parts);

// The shares of a run: what each worker and each scheduler has.
struct run_shares {
    data_shape data;
    std::vector<number_range> rows;      // of each worker
    std::vector<std::uint64_t> entries;  // in these rows
    std::vector<number_range> variables; // of each scheduler
    std::vector<number_range> blocks;    // of each block; empty if variables do not rotate
};

// Among how many the data is shared out.
struct share_counts {
    std::size_t workers = 1;
    std::size_t schedulers = 1;
    std::size_t blocks = 0;
    bool all_rows = false; // each worker has all of them (program::every_worker_has_all_rows)
};

// Rows and variables by the work that they make. There must be as many rows as workers, and as many columns as schedulers
// and as blocks, so that no share is empty.
run_shares share_out(const piece_source& data, const share_counts& among);

} // namespace troupe::scheduled

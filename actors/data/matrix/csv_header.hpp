// The first line of a CSV file has the names of the columns, or is a row: this decides. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

using csv_cells = std::vector<std::string_view>;

struct first_line_guess {
    bool has_names = false;
    std::string
        doubt; // why it may be otherwise, as a sentence without an end; empty: there is none
};

// By the cells of the first line, and those of some rows that follow it. It has names if nothing in it is a number or can be
// meant for one. Numbers are names if they are 0, 1, 2, ..., with which pandas names columns that have no names, or the same
// as decimals, 0.0, 1.0, 2.0, ..., unless the rows go on counting, or there are one or two that are decimals or above whole
// numbers alone. Other numbers make a row, in doubt if they are 0 and 1, or years, or whole while no column below is.
first_line_guess guess_first_line(const csv_cells& first, std::span<const csv_cells> rows);

} // namespace troupe

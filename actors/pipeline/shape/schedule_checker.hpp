// Checks a table of a schedule, and counts what it keeps in memory. Pure, and linear in the steps of the minibatches that
// the table overlaps, which are tried out: as many as it looks ahead and back, and two more.
//
// A sound table
//   names each microbatch of each stage once forward and once back, as a whole or in two halves, and each stage's update
//   once, on the stage's device;
//   lists no step before what it reads: a backward after its forward, a weight half after its input half, an update after
//   the gradients of its minibatch and after the update before;
//   names versions of weights that exist by then, and no other than the latest where it keeps none;
//   has no circle of waits over all devices.
// A table that is sound for its microbatches is so for any part of them, as absent steps are passed over.
#pragma once

#include <optional>

#include "actors/pipeline/shape/schedule_table.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// The first rule that a table breaks.
struct table_fault {
    std::optional<std::uint32_t> device; // of the step; none where it is the table as a whole
    std::optional<std::size_t> position; // in the device's steps; none where one is missing
    std::string what;                    // "3B0 before 3F0"
    std::string_view advice{};           // for who wrote the table; may be empty
};

std::optional<table_fault> find_fault(const schedule_table& table);

// "row 4, column 2: 3B0 before 3F0"; rows and columns count from 1, steps of the warm-up and the body through.
std::string to_string(const table_fault& fault);

// A sound table's numbers. A microbatch is in flight from its forward to the end of its backward pass or weight half.
struct table_numbers {
    std::vector<std::uint32_t> in_flight;        // most microbatches at once, by stage number
    std::vector<std::uint32_t> device_in_flight; // likewise, of all stages of a device together
    std::vector<std::uint32_t> versions;         // most versions of its weights that a stage keeps
    std::vector<std::uint32_t> lag;              // most updates that a stage's forwards are behind
};

// Errors: errc::data with the fault as its sentence.
result<table_numbers> check_table(const schedule_table& table);

} // namespace troupe

// Tables of schedules as text, in the form that PyTorch's torch.distributed.pipelining reads and writes: a line per device,
// its steps in order, with commas between them. Pure.
//
//   2F0 2B0 2I0 2W0        stage, forward (backward, input half, weight half), microbatch; all count from 0
//   (2F0;1B3)OVERLAP_F_B   two steps at once: they are read as one after the other
//   2SEND_F0 2RESHARD ..   communication, which is no part of a table here: passed over and counted
//   nothing                an idle slot: passed over
//
// A row's stages are those that it names. A first line "# v" or "# loop" says how they must lie: 0, 1, .., P-1, P-1, .., 0
// or dealt around. What PyTorch's form has not: "# mirrored" begins a table of two replicas, "# latest" one whose backward
// passes use the latest weights (both in one line, too); "2U" is an update, which otherwise ends the row, of all its
// stages; "|" stands between warm-up and body; "2F0+1-2" is of the next minibatch, on weights that are two updates behind.
#pragma once

#include "actors/pipeline/shape/schedule_table.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

struct table_from_csv {
    schedule_table table;          // sound
    std::uint64_t passed_over = 0; // cells of communication
    std::uint64_t pairs = 0;       // of steps at once
};

// Reads text from outside. Errors: errc::data "NAME: line 4: row 4, column 2: SENTENCE"; rows are those of devices.
result<table_from_csv> read_schedule_csv(std::string_view text, const std::string& name);

std::string write_schedule_csv(const schedule_table& table);

} // namespace troupe

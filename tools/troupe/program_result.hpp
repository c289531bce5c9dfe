// The commands evaluate and predict on what a program has left behind: the program's row of the table says what they do
// (actors/scheduled/program.hpp).
#pragma once

#include "actors/scheduled/program.hpp"
#include "actors/scheduled/program_app.hpp"
#include "tools/troupe/commands.hpp"

namespace troupe::cli {

// Both print, and return the exit code. The app file's program is one of the table's.
int evaluate_program(const scheduled::program_app& app, const scheduled::program_table& programs,
                     const evaluate_options& options);
int predict_by_program(const scheduled::program_app& app, const scheduled::program_table& programs,
                       const predict_options& options);

} // namespace troupe::cli

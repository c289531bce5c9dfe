// Parts of the command line beside main.cpp: options of several commands, and the commands on saved weights.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/troupe/commands.hpp"

namespace troupe::cli {

void add_app(CLI::App* command, app_choice& app);

// Each adds its command, which reads its words into the options and leaves its exit code in `code`.
void add_evaluate(CLI::App& program, evaluate_options& evaluate, job_table jobs, int& code);
void add_convert(CLI::App& program, convert_options& convert, int& code);
void add_generate(CLI::App& program, generate_options& generate, int& code);

} // namespace troupe::cli

// Parts of the command line beside main.cpp: options of several commands, and the commands on saved weights.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/troupe/commands.hpp"
#include "tools/troupe/program.hpp"

namespace troupe::cli {

void add_app(CLI::App* command, app_choice& app);

// The kinds of jobs that a command knows, with the programs of the modules that its option --program names.
class chosen_jobs {
  public:
    explicit chosen_jobs(const job_source& source) : source_{source} {}

    void add_option(CLI::App* command);
    const std::vector<std::string>& modules() const noexcept { return modules_; }
    // Calls a command with them and returns its exit code, or that of modules which cannot be used.
    int call(const std::function<int(job_table)>& command) const;

  private:
    const job_source& source_;
    std::vector<std::string> modules_;
};

// Each adds its command, which reads its words into the options and leaves its exit code in `code`.
void add_evaluate(CLI::App& program, evaluate_options& evaluate, chosen_jobs& jobs, int& code);
void add_convert(CLI::App& program, convert_options& convert, int& code);
void add_generate(CLI::App& program, generate_options& generate, int& code);

} // namespace troupe::cli

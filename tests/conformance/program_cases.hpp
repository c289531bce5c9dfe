// Programs of scheduled parameters, each with data and settings, for the suite that all of them have to pass.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/scheduled/program_app.hpp"
#include "tests/support/program_driver.hpp"

namespace troupe::test {

struct program_case {
    std::string name;
    scheduled::program program;
    // All of the app file but the data, which is `rows`: program, schedule, and stop if it is not the default.
    std::string app;
    matrix_rows rows;
    matrix_rows held_out; // of the same columns, which the run does not see
    // In the place of rows, for programs whose workers have all of it.
    std::function<std::shared_ptr<scheduled::piece_source>()> source = {};
    bool has_one_scheduler = false;
    bool unit_norm = false;
    // The run ends by itself within so many phases, or it has no end of its own and is one of so many sweeps or phases.
    std::uint64_t phases_max = 2000;
    bool has_end = true;
    std::uint64_t sweeps = 0; // of a rotation

    // What a run has found, and how far runs with 1, 2 and 4 workers may differ in it, as a share of the largest number.
    // Empty: the program promises nothing about them.
    std::function<std::vector<double>(const driven_result&)> found = {};
    double tolerance = 0;

    // Settings that are refused: each is KEY=VALUE, as with --set, and what the sentence contains.
    struct refusal {
        std::string setting;
        std::string says;
    };
    std::vector<refusal> refused = {};
    // What the program does not look at, by the names of program_attacks.cpp: "a probe's content", or "what a worker saved:
    // tensor 3". A wrong number or type of tensors in it need not be refused.
    std::vector<std::string> ignored = {};
};

const std::vector<program_case>& program_cases();

// What is read from the row's app file. Errors: as with any app file.
result<scheduled::program_app> app_of(const program_case& c, const std::string& setting = {});
// Its settings are valid as long as `app` lives.
driven_run run_of(const program_case& c, const scheduled::program_app& app);
bool rotates(const driven_run& run);

} // namespace troupe::test

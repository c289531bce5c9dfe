// Parts of the command line beside program.cpp: options of several commands, the commands on saved weights, and inspect.
#pragma once

#include <CLI/CLI.hpp>
#include <concepts>
#include <cstdint>
#include <sstream>
#include <string>

#include "tools/inspector/inspect.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/program.hpp"

namespace troupe::cli {

void add_app(CLI::App* command, app_choice& app);
CLI::Option* add_transport(CLI::App* command, access_choice& access); // --transport, --plain

// The check of an option's number. `unit` is that of the number, which is written without it: "seconds"; empty: it has none.
template <class Number>
CLI::Validator number_in(Number least, Number most, const std::string& unit = {}) {
    std::ostringstream bounds, description;
    bounds << "from " << least << " to " << most;
    description << (unit.empty() ? "" : unit + " ") << "in [" << least << " - " << most << "]";
    const auto check = [=, range = bounds.str()](std::string& given) -> std::string {
        double value{};
        std::int64_t whole{};
        const std::string is = "'" + given + "' is ";
        const std::string advice =
            "; give " + (unit.empty() ? "one " : unit + " without a unit, ") + range;
        if (!CLI::detail::lexical_cast(given, value))
            return is + "no number" + advice;
        if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)))
            return is + "not " + range;
        return !std::integral<Number> || CLI::detail::lexical_cast(given, whole)
                   ? std::string{}
                   : is + "no whole number" + advice;
    };
    return {check, description.str()};
}

// The command line of inspect, before it is understood.
struct inspect_words {
    inspector::inspect_options what;
    std::vector<std::string> words;
    access_choice access;
    double seconds = 0;
};

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
void add_predict(CLI::App& program, predict_options& predict, chosen_jobs& jobs, int& code);
void add_convert(CLI::App& program, convert_options& convert, int& code);
void add_generate(CLI::App& program, generate_options& generate, int& code);
void add_pipeline(CLI::App& program, pipeline_options& pipeline, int& code);
void add_inspect(CLI::App& program, inspect_words& inspect, int& code);

} // namespace troupe::cli

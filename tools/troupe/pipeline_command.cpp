// pipeline: the table of a pipeline's schedule over time, its idle time and what it keeps in memory.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "actors/data/files/input_file.hpp"
#include "actors/pipeline/shape/list_schedule.hpp"
#include "actors/pipeline/shape/schedule_checker.hpp"
#include "actors/pipeline/shape/schedule_csv.hpp"
#include "actors/pipeline/shape/schedule_drawing.hpp"
#include "actors/pipeline/shape/schedules.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/number_words.hpp"

namespace troupe::cli {

namespace {

struct chosen_table {
    std::string title; // a line for people
    schedule_table table;
};

result<chosen_table> table_of_file(const pipeline_options& options) {
    if (options.has_sizes)
        return error{errc::usage,
                     options.name + " says itself how many devices, stages and microbatches there "
                                    "are; leave out the options for them"};
    const auto file = read_whole(options.name);
    if (!file)
        return file.failure();
    auto read = read_schedule_csv(
        {reinterpret_cast<const char*>(file->bytes.data()), file->bytes.size()}, options.name);
    if (!read)
        return read.failure();
    std::string title = options.name;
    if (read->pairs > 0)
        title += ", " + std::to_string(read->pairs) + " pairs one step after the other";
    if (read->passed_over > 0)
        title += ", " + std::to_string(read->passed_over) + " steps of communication passed over";
    return chosen_table{std::move(title), std::move(read->table)};
}

result<chosen_table> table_of(const pipeline_options& options) {
    const auto row = std::ranges::find(schedule_rows(), options.name, &schedule_row::name);
    std::error_code ignored;
    if (row == schedule_rows().end() && std::filesystem::exists(options.name, ignored))
        return table_of_file(options);
    auto table = make_table(options.name, options.request);
    if (row == schedule_rows().end())
        return error{errc::usage, options.name +
                                      ": there is no file and no schedule of this name; the "
                                      "schedules are " +
                                      schedule_names()};
    if (!table)
        return table.failure();
    return chosen_table{options.name + ": " + std::string{row->about}, std::move(*table)};
}

// "1,1.2,0.8"
result<pass_times> read_times(const std::string& text) {
    const std::size_t first = text.find(',');
    const std::size_t second = first == std::string::npos ? first : text.find(',', first + 1);
    if (second != std::string::npos) {
        const auto f = read_decimal(std::string_view{text}.substr(0, first));
        const auto i = read_decimal(std::string_view{text}.substr(first + 1, second - first - 1));
        const auto w = read_decimal(std::string_view{text}.substr(second + 1));
        if (f && i && w && fraction{0} < *f && fraction{0} < *i && fraction{0} < *w)
            return pass_times{*f, *i, *w};
    }
    return error{
        errc::usage,
        "--times: give three numbers above 0, of at most six decimals, for a stage's forward "
        "and the two halves of its backward, as 1,1,1"};
}

result<timeline_options> read_timeline(const pipeline_options& options) {
    auto times = read_times(options.times);
    if (!times)
        return times.failure();
    const auto hop = read_decimal(options.hop);
    if (!hop)
        return error{errc::usage, "--hop: give a number from 0 on, of at most six decimals, in the "
                                  "unit of --times"};
    return timeline_options{.stages = {*times}, .hop = *hop};
}

// "4 3 2 1"
std::string words_of(const std::vector<std::uint32_t>& numbers) {
    std::string words;
    for (const std::uint32_t n : numbers)
        words += (words.empty() ? "" : " ") + std::to_string(n);
    return words;
}

std::string fraction_text(fraction f) {
    return formatted("%.6g", f.approximate());
}

std::string words_of(const steady_pace& pace) {
    const std::string about = pace.is_exact ? "" : "about ";
    return about + fraction_text(pace.most_idle()) + " of " + fraction_text(pace.per_minibatch()) +
           formatted(" (%.1f%%)", 100 * pace.idle_share());
}

// A line of text has a place for each tick of the times, which are whole in it.
bool is_drawable(const schedule_table& table, const drawing_options& drawing) {
    constexpr double places_max = 1e5; // of all devices
    const double ticks = makespan_of(table, drawing.times, drawing.minibatches).approximate() *
                         static_cast<double>(ticks_of(table, drawing.times).per_unit);
    return ticks * static_cast<double>(table.devices.size()) <= places_max;
}

void print_table(const chosen_table& chosen, const table_numbers& numbers,
                 const drawing_options& drawing) {
    const schedule_table& table = chosen.table;
    timeline_options waiting = drawing.times;
    waiting.updates_wait_for_all = true;
    std::cout << chosen.title << "\n\n";
    if (is_drawable(table, drawing))
        std::cout << draw_text(table, drawing)
                  << "\nF forward, B backward, I and W its halves, . idle\n\n";
    else
        std::cout << "(too long to be drawn as text; --svg FILE and --trace FILE draw it)\n\n";
    std::cout << "idle time    " << words_of(find_steady_pace(table, drawing.times))
              << " of a minibatch, in a long epoch\n";
    if (can_wait_for_all(table))
        std::cout << "             " << words_of(find_steady_pace(table, waiting))
                  << " where updates wait for a common norm\n";
    std::cout << "in flight    " << words_of(numbers.device_in_flight)
              << (table.chain_stages() > table.devices.size() ? " microbatches of a stage at most"
                                                              : " microbatches at most")
              << ", by device\n";
    std::cout << "versions     " << words_of(numbers.versions)
              << " of the weights kept, by stage\n";
    std::cout << "lag          " << words_of(numbers.lag) << " updates behind at most, by stage\n";
    if (drawing.times.hop == fraction{0})
        std::cout << "\nLinks take no time here; --hop D gives them one, which can change what is "
                     "best.\n";
    std::cout.flush();
}

result<void> write_picture(const std::string& path, const std::string& text) {
    if (path.empty())
        return {};
    std::ofstream out{path, std::ios::binary | std::ios::trunc};
    out << text;
    out.close();
    if (!out.good())
        return error{errc::io, path + ": could not be written"};
    return {};
}

} // namespace

int pipeline(const pipeline_options& options) {
    const auto timeline = read_timeline(options);
    if (!timeline)
        return report(timeline.failure());
    auto chosen = table_of(options);
    if (!chosen)
        return report(chosen.failure());
    if (options.fit)
        chosen->table = fitted_to(chosen->table, *timeline);
    const schedule_table& table = chosen->table;
    const auto numbers = check_table(table);
    if (!numbers)
        return report(numbers.failure());
    const drawing_options drawing{.times = *timeline, .minibatches = minibatches_to_draw(table)};
    print_table(*chosen, *numbers, drawing);
    for (const auto& [path, text] : {std::pair{options.csv_file, write_schedule_csv(table)},
                                     std::pair{options.svg_file, draw_svg(table, drawing)},
                                     std::pair{options.trace_file, draw_trace(table, drawing)}})
        if (const auto written = write_picture(path, text); !written)
            return report(written.failure());
    return 0;
}

} // namespace troupe::cli

// results: the last milestones of runs.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "actors/runtime/actor_names.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/terms.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

constexpr std::size_t columns_max = 32;

std::string number_text(double value) {
    char text[32];
    const bool is_whole = std::abs(value) < 1e15 && value == std::floor(value);
    std::snprintf(text, sizeof text, is_whole ? "%.0f" : "%.8g", value);
    return text;
}

std::vector<std::string> names_of(const actor_row& a) {
    std::vector<std::string> names;
    for (const milestone_board::milestone& m : a.milestones)
        for (const milestone_board::number& n : m.numbers)
            if (names.size() < columns_max && std::ranges::find(names, n.name) == names.end())
                names.push_back(n.name);
    return names;
}

void print_actor(std::ostream& out, const actor_row& a) {
    using enum table::align;
    const std::vector<std::string> names = names_of(a);
    std::vector<table::column> columns{{"milestone", right}, {"at", right}};
    for (const std::string& name : names)
        columns.push_back({printable(name), right});
    table rows{std::move(columns)};
    for (const milestone_board::milestone& m : a.milestones) {
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.1f s",
                      std::chrono::duration<double>(m.since_start).count());
        std::vector<std::string> cells{std::to_string(std::uint64_t{m.number} + 1), seconds};
        for (const std::string& name : names) {
            const auto found = std::ranges::find(m.numbers, name, &milestone_board::number::name);
            cells.push_back(found == m.numbers.end() ? "" : number_text(found->value));
        }
        rows.add(std::move(cells));
    }
    rows.print(out);
}

} // namespace

void print_results(std::ostream& out, const std::vector<run_results>& runs) {
    for (const run_results& run : runs) {
        out << (&run == runs.data() ? "" : "\n")
            << (run.actor->run == 0 ? "of no run" : "run " + run_text(run.actor->run)) << '\n';
        print_actor(out, *run.actor);
    }
    if (runs.empty())
        out << "no run has reached a milestone that it shows: runs of programs of scheduled "
               "parameters do, at the end of each sweep\n";
}

result<void> show_results(view_context& view) {
    const auto run = parse_run_terms("results", view.options.terms);
    if (!run)
        return run.failure();
    using lists = std::map<node_id, actor_list>;
    return show_lists(
        view, {[&](std::ostream& out, const lists& nodes) {
                   print_results(out, results_of(nodes, *run));
               },
               [&](const lists& nodes) { return results_record(results_of(nodes, *run)); }});
}

} // namespace troupe::inspector

// schedule: what the actors of runs say of themselves.
#include <algorithm>

#include "actors/runtime/actor_names.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/terms.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

const std::string& text_of(const actor_row& a, const std::string& fact) {
    static const std::string nothing;
    const auto found = std::ranges::find(a.facts, fact, &fact_board::fact::name);
    return found == a.facts.end() ? nothing : found->text;
}

bool holds_numbers(const fact_table& run, const std::string& fact) {
    return std::ranges::all_of(run.rows, [&](const fact_table::row& r) {
        return text_of(*r.actor, fact).find_first_not_of("0123456789") == std::string::npos;
    });
}

void print_run(std::ostream& out, const fact_table& run) {
    using enum table::align;
    std::vector<table::column> columns{{"node", left}, {"actor", left}};
    for (const std::string& fact : run.columns)
        columns.push_back({printable(fact), holds_numbers(run, fact) ? right : left});
    table rows{std::move(columns)};
    for (const fact_table::row& r : run.rows) {
        std::vector<std::string> cells{printable(r.node->node_name), printable(r.actor->name)};
        for (const std::string& fact : run.columns)
            cells.push_back(printable(text_of(*r.actor, fact), fact_board::text_bytes_max));
        rows.add(std::move(cells));
    }
    out << (run.run == 0 ? "of no run" : "run " + run_text(run.run)) << '\n';
    rows.print(out);
    if (run.has_more)
        out << "facts of further names are not shown here; --json has them\n";
}

} // namespace

void print_schedule(std::ostream& out, const std::vector<fact_table>& runs) {
    for (const fact_table& run : runs) {
        out << (&run == runs.data() ? "" : "\n");
        print_run(out, run);
    }
    if (runs.empty())
        out << "no actor says anything of itself: the actors of programs of scheduled parameters "
               "do, and none of them are here\n";
}

result<void> show_schedule(view_context& view) {
    const auto run = parse_run_terms("schedule", view.options.terms);
    if (!run)
        return run.failure();
    using lists = std::map<node_id, actor_list>;
    return show_lists(
        view, {[&](std::ostream& out, const lists& nodes) {
                   print_schedule(out, fact_tables(nodes, *run));
               },
               [&](const lists& nodes) { return schedule_record(fact_tables(nodes, *run)); }});
}

} // namespace troupe::inspector

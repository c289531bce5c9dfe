#include "tools/inspector/fact_table.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace troupe::inspector {

namespace {

// The order of a row: the beginning of its name, the number at its end by its size, and what tells apart actors of one name.
auto order_of(const fact_table::row& r) {
    const std::string_view name = r.actor->name;
    const std::size_t last = name.find_last_not_of("0123456789");
    const std::size_t number = last == std::string_view::npos ? 0 : last + 1;
    return std::tuple{
        name.substr(0, number), name.size(),    name, std::string_view{r.node->node_name},
        r.node->node,           r.actor->number};
}

void add_columns(fact_table& to, const actor_row& actor) {
    for (const fact_board::fact& f : actor.facts) {
        if (std::ranges::find(to.columns, f.name) != to.columns.end())
            continue;
        if (to.columns.size() < fact_table::columns_max)
            to.columns.push_back(f.name);
        else
            to.has_more = true;
    }
}

} // namespace

std::vector<fact_table> fact_tables(const std::map<node_id, actor_list>& nodes, std::uint64_t run) {
    std::map<std::uint64_t, fact_table> by_run;
    for (const auto& [id, node] : nodes)
        for (const actor_row& a : node.actors)
            if (!a.facts.empty() && (run == 0 || a.run == run))
                by_run[a.run].rows.push_back({&node, &a});
    std::vector<fact_table> tables;
    for (auto& [number, table] : by_run) {
        table.run = number;
        std::ranges::sort(table.rows, {}, &order_of);
        for (const fact_table::row& r : table.rows)
            add_columns(table, *r.actor);
        tables.push_back(std::move(table));
    }
    return tables;
}

std::vector<run_results> results_of(const std::map<node_id, actor_list>& nodes, std::uint64_t run) {
    std::vector<run_results> all;
    for (const auto& [id, node] : nodes)
        for (const actor_row& a : node.actors)
            if (!a.milestones.empty() && (run == 0 || a.run == run))
                all.push_back({&node, &a});
    std::ranges::sort(all, {}, [](const run_results& r) {
        return std::tuple{r.actor->run, r.node->node, r.actor->number};
    });
    return all;
}

} // namespace troupe::inspector

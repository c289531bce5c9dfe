// actors: two lists of every node's actors, and what changed between them.
#include <algorithm>
#include <sstream>

#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

using samples = std::map<node_id, actor_list>;

// The links to nodes that the inspector reaches: it knows their names.
std::vector<link_row> links_of(const cluster_link& cluster, const actor_list& node) {
    std::vector<link_row> links;
    for (const auto& [to, over] : node.links)
        if (const linked_node* const peer = cluster.find(to))
            links.push_back({to, peer->name, over});
    std::ranges::sort(links, {}, [](const link_row& l) { return std::pair{l.name, l.to}; });
    return links;
}

std::vector<node_rates> compare(const cluster_link& cluster, const samples& before,
                                const samples& after) {
    std::vector<node_rates> nodes;
    for (const linked_node& node : cluster.nodes()) {
        const auto now = after.find(node.id);
        const auto then = before.find(node.id);
        if (now != after.end() && then != before.end())
            nodes.push_back({node.id, node.name, rates_between(then->second, now->second),
                             now->second.pools, links_of(cluster, now->second)});
    }
    std::ranges::sort(nodes, {}, [](const node_rates& n) { return std::pair{n.name, n.node}; });
    return nodes;
}

void print_table(std::ostream& out, const std::vector<node_rates>& nodes) {
    using enum table::align;
    table rows{{{"node", left},
                {"actor", left},
                {"number", right},
                {"mailbox", right},
                {"messages", right},
                {"handlers busy", right},
                {"device busy", right},
                {"", left}}};
    std::size_t actors = 0;
    for (const node_rates& node : nodes) {
        for (const actor_rate& a : node.actors)
            rows.add({printable(node.name), printable(a.now.name),
                      std::to_string(a.now.number.value()), std::to_string(a.now.mailbox_depth),
                      rate_text(a.messages_per_second), percent_text(a.handler_share),
                      a.now.device_ns > 0 ? percent_text(a.device_share) : "",
                      a.now.paused ? "paused" : ""});
        actors += node.actors.size();
    }
    out << count_text(actors, "actor", "actors") << " on "
        << count_text(nodes.size(), "node", "nodes") << "\n\n";
    rows.print(out);
}

void print_memory(std::ostream& out, const std::vector<node_rates>& nodes) {
    using enum table::align;
    table rows{{{"node", left},
                {"memory", left},
                {"in use", right},
                {"at most", right},
                {"from the system", right},
                {"bound", right},
                {"allocations", right}}};
    std::size_t pools = 0;
    for (const node_rates& node : nodes)
        for (const pool_row& p : node.pools) {
            rows.add({printable(node.name), printable(p.name), bytes_text(p.bytes_in_use),
                      bytes_text(p.bytes_in_use_peak), bytes_text(p.bytes_reserved),
                      bytes_text(p.bytes_max), std::to_string(p.system_allocations)});
            ++pools;
        }
    if (pools == 0)
        return;
    out << '\n';
    rows.print(out);
}

void print_links(std::ostream& out, const std::vector<node_rates>& nodes) {
    using enum table::align;
    table rows{{{"node", left}, {"sends to", left}, {"over", left}}};
    std::size_t links = 0;
    for (const node_rates& node : nodes)
        for (const link_row& l : node.links) {
            rows.add({printable(node.name), printable(l.name), l.over});
            ++links;
        }
    if (links == 0)
        return;
    out << '\n';
    rows.print(out);
}

void print_tables(std::ostream& out, const std::vector<node_rates>& nodes) {
    print_table(out, nodes);
    print_memory(out, nodes);
    print_links(out, nodes);
}

// Writes the tables over the old ones on a terminal.
void redraw(std::ostream& out, const std::vector<node_rates>& nodes, const screen_size& size) {
    std::ostringstream text;
    print_tables(text, nodes);
    out << "\x1b[H\x1b[2J" << cut_to(size, text.str()) << std::flush;
}

} // namespace

result<void> show_actors(view_context& view) {
    auto before = view.cluster.list_all_actors();
    if (!before)
        return before.failure();
    for (bool first = true;; first = false) {
        const time_point began = view.cluster.view().time().now();
        if (!view.cluster.view().rest(view.options.interval))
            return view.options.watch ? result<void>{}
                                      : error{errc::cancelled, "stopped before the second sample"};
        auto after = view.cluster.list_all_actors();
        if (!after)
            return after.failure();
        const auto nodes = compare(view.cluster, *before, *after);
        if (view.options.json)
            view.out << actors_record(nodes, view.cluster.view().time().now() - began) << std::endl;
        else if (view.options.screen && view.options.watch)
            redraw(view.out, nodes, view.options.screen());
        else {
            view.out << (first ? "" : "\n");
            print_tables(view.out, nodes);
            view.out << std::flush;
        }
        if (!view.options.watch || !view.out.good())
            return {};
        before = std::move(after);
        if (auto still = view.cluster.refresh(); !still)
            return still.failure();
    }
}

} // namespace troupe::inspector

// staleness: what the actors that serve workers show of them.
#include <algorithm>
#include <cstdio>

#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

// "0: 12  1: 240  7 and more: 3"
std::string histogram_text(const std::vector<std::uint64_t>& late) {
    std::string text;
    for (std::size_t n = 0; n < late.size(); ++n)
        if (late[n] > 0)
            text += (text.empty() ? "" : "  ") + std::to_string(n) +
                    (n + 1 == late_counts_max ? " and more: " : ": ") + std::to_string(late[n]);
    return text;
}

std::string mean_text(const std::vector<std::uint64_t>& late) {
    double updates = 0;
    double sum = 0;
    for (std::size_t n = 0; n < late.size(); ++n) {
        updates += static_cast<double>(late[n]);
        sum += static_cast<double>(n) * static_cast<double>(late[n]);
    }
    if (updates == 0)
        return {};
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", sum / updates);
    return text;
}

std::string wait_text(const actor_row& server, const worker_row& w) {
    if (!w.waits_for)
        return {};
    std::string text = "for worker " + std::to_string(*w.waits_for);
    const auto other = std::ranges::find(server.workers, *w.waits_for, &worker_row::worker);
    if (other != server.workers.end() && other->clock < w.clock)
        text += ", " + count_text(w.clock - other->clock, "clock", "clocks") + " behind";
    return text;
}

} // namespace

void print_staleness(std::ostream& out, const std::map<node_id, actor_list>& nodes) {
    using enum table::align;
    table rows{{{"node", left},
                {"server", left},
                {"worker", right},
                {"clock", right},
                {"mean", right},
                {"updates by how many versions late they were", left},
                {"waits", left}}};
    std::size_t servers = 0;
    for (const auto& [id, node] : nodes)
        for (const actor_row& a : node.actors) {
            servers += a.workers.empty() ? 0 : 1;
            for (const worker_row& w : a.workers)
                rows.add({printable(node.node_name), printable(a.name), std::to_string(w.worker),
                          std::to_string(w.clock), mean_text(w.late), histogram_text(w.late),
                          wait_text(a, w)});
        }
    if (servers == 0) {
        out << "nobody here serves workers: no parameter server, centre or consensus of replicas "
               "and "
               "no scheduler of a program are here, or they have had no updates yet\n";
        return;
    }
    rows.print(out);
}

result<void> show_staleness(view_context& view) {
    return show_lists(view, {&print_staleness, &staleness_record});
}

} // namespace troupe::inspector

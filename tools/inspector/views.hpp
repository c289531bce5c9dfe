// One function per view. Each asks, lets a pure part compute, and prints to `out`; notes go to `talk`.
#pragma once

#include "tools/inspector/cluster_link.hpp"
#include "tools/inspector/fact_table.hpp"
#include "tools/inspector/inspect.hpp"
#include "tools/inspector/minibatch_path.hpp"
#include "tools/inspector/work_path.hpp"

namespace troupe::inspector {

struct view_context {
    cluster_link& cluster;
    const inspect_options& options;
    std::ostream& out;
    std::ostream& talk;

    void note(const std::string& line) const {
        talk << options.speaker << ": " << line << '\n' << std::flush;
    }
};

result<void> show_actors(view_context& view);
result<void> show_staleness(view_context& view);
result<void> show_schedule(view_context& view);
result<void> show_results(view_context& view);
result<void> show_tail(view_context& view);
result<void> show_path(view_context& view);
result<void> show_work(view_context& view, const follow_terms& wanted);
result<void> export_trace(view_context& view);

// The common part of views of lists as they are: prints the lists of all nodes, or their record, once or with --watch
// again and again.
struct listing {
    std::function<void(std::ostream&, const std::map<node_id, actor_list>&)> print;
    std::function<std::string(const std::map<node_id, actor_list>&)> record;
};
result<void> show_lists(view_context& view, const listing& what);

// Text for people. Pure.
std::string tail_line(const tail_message& m, node_id node, const all_names& names,
                      std::int64_t since_attach_ns);
void print_staleness(std::ostream& out, const std::map<node_id, actor_list>& nodes);
void print_schedule(std::ostream& out, const std::vector<fact_table>& runs);
void print_results(std::ostream& out, const std::vector<run_results>& runs);
void print_path(std::ostream& out, const minibatch_path& path, const all_names& names);
void print_work(std::ostream& out, const work_path& path, const all_names& names);

} // namespace troupe::inspector

// JSON: one object per line for every view's --json, and the objects of a trace file. Everything that is written as
// JSON is written here. Ids of nodes are text ("0x1f3a"), since readers of JSON lose digits of 64-bit numbers. Bytes
// that are not UTF-8 are replaced, characters beyond ASCII escaped.
//
// Pure.
#pragma once

#include <string>

#include "schemas/base/time_source.hpp"
#include "tools/inspector/chrome_trace.hpp"
#include "tools/inspector/fact_table.hpp"
#include "tools/inspector/minibatch_path.hpp"
#include "tools/inspector/work_path.hpp"

namespace troupe::inspector {

// A link from a node to one of its peers.
struct link_row {
    node_id to;
    std::string name; // the peer's
    std::string over;
};

struct node_rates {
    node_id node;
    std::string name;
    std::vector<actor_rate> actors;
    std::vector<pool_row> pools;
    std::vector<link_row> links;
};

std::string actors_record(const std::vector<node_rates>& nodes, duration sample);
std::string staleness_record(const std::map<node_id, actor_list>& nodes);
std::string schedule_record(const std::vector<fact_table>& runs);
std::string results_record(const std::vector<run_results>& runs);
std::string tail_record(const tail_message& message, node_id node, const all_names& names,
                        std::int64_t since_attach_ns);
std::string path_record(const minibatch_path& path, const all_names& names,
                        std::uint64_t events_lost);
std::string work_record(const work_path& path, const all_names& names, std::uint64_t events_lost);

// The records "event": "end" of a tail, and of an export with its file.
std::string tail_end_record(std::uint64_t shown, std::uint64_t dropped);
std::string export_record(const std::string& file, std::uint64_t bytes,
                          const chrome_counts& counts);

// Objects of a trace file. Times in nanoseconds since its start.
struct chrome_slice {
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t length_ns = 0;
    std::string name;
    const trace_event* event = nullptr;
};
struct chrome_end {
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    std::int64_t at_ns = 0;
};
std::string process_record(std::uint32_t process, const std::string& name);
// Threads are shown in the order of `order`, then as they appeared.
std::string thread_record(std::uint32_t process, std::uint32_t thread, const std::string& name,
                          std::uint64_t order);
// A number that changes over time, shown as a graph; its name is unique in its process.
std::string counter_record(std::uint32_t process, const std::string& name, std::int64_t at_ns,
                           std::uint64_t value);
std::string slice_record(const chrome_slice& slice);
std::string arrow_record(std::uint64_t id, bool is_end, const chrome_end& end);
std::string other_data(const chrome_counts& counts);

} // namespace troupe::inspector

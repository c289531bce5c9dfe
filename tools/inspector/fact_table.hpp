// The facts that actors say of themselves, as a table for each run; and the milestones that runs have reached. Pure.
//
// Names and texts are as they were sent, only bounded (events.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/inspector/events.hpp"

namespace troupe::inspector {

struct fact_table {
    static constexpr std::size_t columns_max = 32;

    // Both are in the lists that the table is made from, which must outlive it.
    struct row {
        const actor_list* node = nullptr;
        const actor_row* actor = nullptr;
    };

    std::uint64_t run = 0;            // 0: actors that belong to no run
    std::vector<std::string> columns; // names of facts, in the order in which they occur
    std::vector<row> rows;            // by name, with numbers in their order: worker-2, worker-10
    bool has_more = false;            // facts of further names, for which there is no column
};

// The tables of all runs whose actors have facts, or of `run` if it is not 0.
std::vector<fact_table> fact_tables(const std::map<node_id, actor_list>& nodes, std::uint64_t run);

// An actor that shows the milestones of its run. Both are in the lists that it is from.
struct run_results {
    const actor_list* node = nullptr;
    const actor_row* actor = nullptr;
};
// By run; of all, or of `run` if it is not 0.
std::vector<run_results> results_of(const std::map<node_id, actor_list>& nodes, std::uint64_t run);

} // namespace troupe::inspector

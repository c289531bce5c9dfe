#include <boost/test/unit_test.hpp>

#include <sstream>

#include "tools/inspector/fact_table.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

actor_row actor_with(std::uint64_t number, const std::string& name, std::uint64_t run,
                     std::vector<fact_board::fact> facts) {
    actor_row a{actor_number{number}, name};
    a.run = run;
    a.facts = std::move(facts);
    return a;
}

std::vector<std::string> names_of(const fact_table& table) {
    std::vector<std::string> names;
    for (const fact_table::row& r : table.rows)
        names.push_back(r.node->node_name + "/" + r.actor->name);
    return names;
}

using words = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_fact_tables)

BOOST_AUTO_TEST_CASE(rows_stand_in_the_order_of_names_and_numbers) {
    std::map<node_id, actor_list> nodes;
    nodes[node_id{1}] = {node_id{1},
                         "b",
                         0,
                         {actor_with(1, "worker-10", 7, {{"x", "1"}}),
                          actor_with(2, "worker-2", 7, {{"x", "1"}}),
                          actor_with(3, "same", 7, {{"x", "1"}}), actor_with(4, "12", 7, {}),
                          actor_with(5, "9", 7, {{"x", "1"}})}};
    nodes[node_id{2}] = {node_id{2},
                         "a",
                         0,
                         {actor_with(1, "same", 7, {{"y", "1"}}),
                          actor_with(2, "worker-1", 8, {{"z", "1"}}),
                          actor_with(3, "", 7, {{"x", ""}})}};
    const auto tables = fact_tables(nodes, 0);
    BOOST_TEST_REQUIRE(tables.size() == 2u);
    BOOST_TEST(tables[0].run == 7u);
    BOOST_TEST(names_of(tables[0]) ==
                   (words{"a/", "b/9", "a/same", "b/same", "b/worker-2", "b/worker-10"}),
               boost::test_tools::per_element());
    BOOST_TEST(tables[0].columns == (words{"x", "y"}), boost::test_tools::per_element());
    BOOST_TEST(tables[1].run == 8u);
    BOOST_TEST(fact_tables(nodes, 8).size() == 1u);
    BOOST_TEST(fact_tables(nodes, 9).empty());
}

BOOST_AUTO_TEST_CASE(the_columns_of_a_table_are_bounded) {
    std::map<node_id, actor_list> nodes;
    actor_list& node = nodes[node_id{1}];
    const auto add = [&](std::size_t n) {
        node.actors.push_back(
            actor_with(n, "actor-" + std::to_string(n), 1, {{std::to_string(n), "x"}}));
    };
    for (std::size_t n = 0; n < fact_table::columns_max; ++n)
        add(n);
    BOOST_TEST(!fact_tables(nodes, 0).at(0).has_more);
    add(fact_table::columns_max);
    const auto tables = fact_tables(nodes, 0);
    BOOST_TEST(tables.at(0).columns.size() == fact_table::columns_max);
    BOOST_TEST(tables[0].has_more);
}

BOOST_AUTO_TEST_CASE(results_are_the_milestones_of_each_run) {
    std::map<node_id, actor_list> nodes;
    actor_row leader = actor_with(3, "8/leader", 8, {}), other = actor_with(4, "7/leader", 7, {});
    leader.milestones = {{9, std::chrono::seconds{2}, {{"objective", 0.25}, {"phases", 1e6}}},
                         {10, std::chrono::seconds{4}, {{"gap\n", 1.0 / 3}, {"objective", 0.125}}}};
    other.milestones = {{0, std::chrono::seconds{1}, {}}};
    nodes[node_id{1}] = {node_id{1}, "a", 0, {leader, other, actor_with(5, "8/worker-0", 8, {})}};
    BOOST_TEST(results_of(nodes, 0).size() == 2u);
    BOOST_TEST(results_of(nodes, 9).empty());
    const auto runs = results_of(nodes, 8);
    BOOST_TEST_REQUIRE(runs.size() == 1u);
    std::ostringstream text;
    print_results(text, runs);
    const std::string shown = text.str();
    BOOST_TEST(shown.starts_with("run 00000008\nmilestone "), shown);
    for (const char* part :
         {"objective", "gap\\x0a", "10  2.0 s", "11  4.0 s", "1000000", "0.33333333"})
        BOOST_TEST(shown.find(part) != std::string::npos, part << " in " << shown);
    BOOST_TEST(results_record(runs).find(R"("milestone":11,"seconds":4.0,"numbers":{"gap)") !=
               std::string::npos);
    std::ostringstream nothing;
    print_results(nothing, {});
    BOOST_TEST(nothing.str().starts_with("no run has reached a milestone"));
}

BOOST_AUTO_TEST_SUITE_END()

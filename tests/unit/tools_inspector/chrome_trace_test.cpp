#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "schemas/base/random.hpp"
#include "tests/unit/tools_inspector/pipeline_trace.hpp"
#include "tools/inspector/chrome_trace.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

constexpr std::int64_t began_ns = 500'000'000;

struct exported {
    std::string text;
    chrome_counts counts;
};

exported export_pages(const pipeline_trace& trace, std::vector<std::size_t> order = {0, 1}) {
    std::ostringstream out;
    chrome_trace chrome{out, began_ns};
    for (const node_trace& node : trace.traces)
        chrome.add_node(node.node, trace.names.at(node.node).name, node.clock);
    for (const std::size_t t : order)
        chrome.add(trace.traces[t].node, trace.page(t), trace.names);
    const chrome_counts counts = chrome.finish();
    return {out.str(), counts};
}

// The rules of the viewers' importer, checked by a program of its own.
int validate(const std::string& text, const std::string& more = "") {
    const std::string file = "trace_" + std::to_string(std::hash<std::string>{}(text)) + ".json";
    std::ofstream{file} << text;
    const std::string command = "python3 " TROUPE_SOURCE_ROOT "/tests/interop/validate_trace.py " +
                                more + " " + file + " >/dev/null";
    const int status = std::system(command.c_str());
    std::remove(file.c_str());
    return status;
}

std::size_t count(const std::string& text, const std::string& piece) {
    std::size_t found = 0;
    for (auto at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
        ++found;
    return found;
}

trace_event device_event(std::int64_t start, std::int64_t end) {
    trace_event e;
    e.kind = trace_kind::compute;
    e.to_actor = actor_number{30};
    e.started_ns = began_ns + start;
    e.ended_ns = began_ns + end;
    return e;
}

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_chrome_trace)

BOOST_AUTO_TEST_CASE(an_exported_pipeline_keeps_the_rules_of_the_importer) {
    pipeline_trace trace{3};
    for (std::uint64_t m = 0; m < 20; ++m)
        trace.run(m, m);
    const exported e = export_pages(trace);
    BOOST_TEST(validate(e.text) == 0);
    BOOST_TEST(e.counts.slices == trace.traces[0].events.size() + trace.traces[1].events.size());
    BOOST_TEST(e.counts.without_sender == 0u);
    BOOST_TEST(e.counts.backwards == 0u);
    BOOST_TEST(e.counts.arrows > e.counts.slices / 2);
    BOOST_TEST(count(e.text, "\"ph\":\"s\"") == e.counts.arrows);
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_device_is_a_graph_with_a_point_where_it_changes) {
    pipeline_trace trace{1};
    trace.run(0, 0);
    std::vector<trace_event>& events = trace.traces[0].events;
    events.clear();
    const std::uint64_t held[] = {0, 1000, 1000, 3000, 3000, 1000};
    for (std::int64_t i = 0; i < 6; ++i) {
        events.push_back(device_event(1000 * i, 1000 * i + 500));
        events.back().bytes = held[i];
    }
    const exported e = export_pages(trace);
    BOOST_TEST(validate(e.text) == 0);
    BOOST_TEST(count(e.text, "\"ph\":\"C\"") == 3u);
    BOOST_TEST(count(e.text, "{\"bytes\":1000}") == 2u);
    BOOST_TEST(count(e.text, "{\"bytes\":3000}") == 1u);
}

BOOST_AUTO_TEST_CASE(the_order_in_which_nodes_are_read_does_not_matter_for_arrows) {
    pipeline_trace trace{2};
    trace.run(0, 0);
    const exported one = export_pages(trace, {0, 1});
    const exported other = export_pages(trace, {1, 0});
    BOOST_TEST(one.counts.arrows == other.counts.arrows);
    BOOST_TEST(other.counts.without_sender == 0u);
    BOOST_TEST(validate(other.text) == 0);
}

BOOST_AUTO_TEST_CASE(lost_events_cost_their_arrows_and_nothing_else) {
    pipeline_trace trace{3};
    for (std::uint64_t m = 0; m < 50; ++m)
        trace.run(m, m);
    random_stream dice{1};
    trace.forget([&](const trace_event&) { return dice.below(4) == 0; });
    const exported e = export_pages(trace);
    BOOST_TEST(validate(e.text) == 0);
    BOOST_TEST(e.counts.without_sender > 0u);
    BOOST_TEST(e.counts.arrows > 0u);
}

BOOST_AUTO_TEST_CASE(what_was_lost_is_said_in_the_file) {
    pipeline_trace trace{1};
    trace.run(0, 0);
    std::ostringstream out;
    chrome_trace chrome{out, began_ns};
    chrome.add_node(node_id{1}, "a", {});
    trace_page page = trace.page(0);
    page.lost = 17;
    page.invalid = 3;
    chrome.add(node_id{1}, page, trace.names);
    BOOST_TEST(chrome.finish().lost == 17u);
    BOOST_TEST(out.str().find("\"events_lost\":17") != std::string::npos);
    BOOST_TEST(out.str().find("\"events_invalid\":3") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(clocks_an_hour_apart_are_brought_together) {
    pipeline_trace trace{2};
    trace.run(0, 0);
    const exported together = export_pages(trace);
    trace.shift_clock(1, 3'600'000'000'000);
    const exported apart = export_pages(trace);
    BOOST_TEST((apart.text == together.text));
}

BOOST_AUTO_TEST_CASE(an_arrow_that_would_point_backwards_is_left_out_and_counted) {
    pipeline_trace trace{2};
    trace.run(0, 0);
    const exported good = export_pages(trace);
    // Node b's clock is ahead by 10 ms, and nobody knows.
    trace.shift_clock(1, -10'000'000);
    trace.traces[1].clock.offset_ns = 0;
    const exported bad = export_pages(trace);
    BOOST_TEST(bad.counts.backwards > 0u);
    BOOST_TEST(bad.counts.backwards + bad.counts.arrows + bad.counts.without_sender ==
               good.counts.arrows);
    BOOST_TEST(validate(bad.text) == 0);
}

BOOST_AUTO_TEST_CASE(work_that_overlaps_goes_to_tracks_of_its_own) {
    pipeline_trace trace{1};
    random_stream dice{2};
    for (int i = 0; i < 500; ++i) {
        const auto start = static_cast<std::int64_t>(dice.below(100'000));
        trace.traces[0].events.push_back(
            device_event(start, start + static_cast<std::int64_t>(dice.below(1000))));
    }
    BOOST_TEST(validate(export_pages(trace).text) == 0);
}

BOOST_AUTO_TEST_CASE(slices_of_no_length_that_follow_each_other_keep_apart) {
    pipeline_trace trace{1};
    for (const std::int64_t at : {100, 100, 101, 101, 105})
        trace.traces[0].events.push_back(device_event(at, at));
    BOOST_TEST(validate(export_pages(trace).text) == 0);
}

BOOST_AUTO_TEST_CASE(events_from_before_the_trace_began_are_left_out) {
    pipeline_trace trace{1};
    trace.traces[0].events.push_back(device_event(-5, 10));
    trace.traces[0].events.push_back(device_event(5, 10));
    const exported e = export_pages(trace);
    BOOST_TEST(e.counts.outside == 1u);
    BOOST_TEST(e.counts.slices == 1u);
}

BOOST_AUTO_TEST_CASE(events_from_after_the_end_are_left_out) {
    std::ostringstream out;
    chrome_trace chrome{out, began_ns};
    chrome.add_node(node_id{1}, "a", {.offset_ns = 1000, .error_ns = 0});
    chrome.stop_at(began_ns + 100);
    trace_page page;
    page.events = {device_event(1000 + 100, 1000 + 200), device_event(1000 + 101, 1000 + 200)};
    chrome.add(node_id{1}, page, {});
    BOOST_TEST(chrome.finish().outside == 1u);
}

BOOST_AUTO_TEST_CASE(names_from_outside_cannot_break_the_file) {
    pipeline_trace trace{1};
    trace.run(0, 0);
    trace.names[node_id{1}].name = "a\"],\x1b[2J\xff";
    trace.names[node_id{1}].labels = {"\n\"}", "\xc0", std::string(500, 'x')};
    trace.names[node_id{1}].actors[actor_number{30}] = std::string{"\0\"", 2};
    trace.names[node_id{1}].types.clear();
    const exported e = export_pages(trace);
    BOOST_TEST(validate(e.text) == 0);
    BOOST_TEST(e.text.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_trace_without_events_is_still_a_trace) {
    std::ostringstream out;
    chrome_trace chrome{out, 0};
    chrome.finish();
    BOOST_TEST(validate(out.str(), "--may-be-empty") == 0);
    BOOST_TEST(validate(out.str()) != 0);
}

BOOST_AUTO_TEST_CASE(the_validator_finds_what_is_wrong) {
    pipeline_trace trace{2};
    trace.run(0, 0);
    const std::string good = export_pages(trace).text;
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string bad = good;
        const auto at = bad.rfind(from);
        BOOST_TEST_REQUIRE(at != std::string::npos, from);
        return bad.replace(at, from.size(), to);
    };
    BOOST_TEST(validate(good) == 0);
    BOOST_TEST(validate(with(",\"bp\":\"e\"", "")) != 0);
    BOOST_TEST(validate(with("\"id\":", "\"ident\":")) != 0);
    BOOST_TEST(validate(with("\"cat\":\"message\"", "\"cat\":\"other\"")) != 0);
    BOOST_TEST(validate(with("\"dur\":", "\"duration\":")) != 0);
    BOOST_TEST(validate(with("\"ts\":", "\"ts\":9")) != 0); // out of its slice
    BOOST_TEST(validate(with("\"thread_name\"", "\"thread_title\"")) != 0);
    BOOST_TEST(validate(good.substr(0, good.size() / 2)) != 0);
}

BOOST_AUTO_TEST_CASE(the_validator_finds_slices_that_overlap) {
    const auto two_slices = [](const std::string& second) {
        return R"({"traceEvents":[{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"a"}},
            {"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"b"}},
            {"ph":"X","pid":1,"tid":1,"ts":10,"dur":10,"name":"x","cat":"c"},
            {"ph":"X","pid":1,"tid":1,)" +
               second + R"(,"name":"y","cat":"c"}]})";
    };
    BOOST_TEST(validate(two_slices(R"("ts":20,"dur":10)")) == 0); // after
    BOOST_TEST(validate(two_slices(R"("ts":12,"dur":5)")) == 0);  // inside
    BOOST_TEST(validate(two_slices(R"("ts":19.999,"dur":5)")) != 0);
}

BOOST_AUTO_TEST_SUITE_END()

// One piece of work of any kind of job, as follow work=N shows it.
#include <boost/test/unit_test.hpp>

#include <sstream>

#include "tests/unit/tools_inspector/look.hpp"
#include "tools/inspector/views.hpp"
#include "tools/inspector/work_path.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

constexpr std::uint64_t run = 0x5c6879d3;

// The same events as those of a run.
pipeline_trace traced(std::uint64_t of_run = run) {
    pipeline_trace trace{2};
    trace.run(0, 0);
    trace.run(1, 1);
    for (node_trace& t : trace.traces)
        for (trace_event& e : t.events)
            e.run = of_run;
    return trace;
}

void make_run(two_nodes& cluster, std::uint64_t of_run) {
    for (const std::uint64_t node : {1u, 2u})
        for (auto& a : cluster.at(node).actors)
            a.run = of_run;
    for (const std::uint64_t node : {1u, 2u})
        for (trace_event& e : cluster.at(node).events)
            e.run = of_run;
}

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_work)

BOOST_AUTO_TEST_CASE(all_messages_and_device_work_of_a_piece_of_work_are_its_steps_in_order) {
    const pipeline_trace trace = traced();
    const work_path path = follow_work(1, 0, trace.traces, trace.names);
    std::size_t expected = 0;
    for (const node_trace& t : trace.traces)
        for (const trace_event& e : t.events)
            expected += e.work.value() == 1 ? 1 : 0;
    BOOST_TEST(path.run == run);
    BOOST_TEST_REQUIRE(path.steps.size() == expected);
    BOOST_TEST(std::ranges::is_sorted(path.steps, {}, &work_step::begins_ns));
    std::set<std::string> what;
    for (const work_step& s : path.steps)
        what.insert(s.what);
    BOOST_TEST((what == std::set<std::string>{"Activation", "Gradient", "WorkDone", "forward",
                                              "backward", "update"}));
    // Messages of the data source come first, and passes of two stages there and back take four times run_ns at least.
    BOOST_TEST((path.steps.front().kind == trace_kind::message));
    BOOST_TEST(path.total_ns > 3 * pipeline_trace::run_ns);
    BOOST_TEST(path.total_ns < 10 * pipeline_trace::run_ns);
    for (const work_step& s : path.steps) {
        const bool is_message = s.kind == trace_kind::message;
        BOOST_TEST(s.queue_ns.has_value() == is_message);
        BOOST_TEST(s.queue_ns.value_or(0) <= pipeline_trace::mailbox_ns);
        BOOST_TEST(s.run_ns == (is_message ? pipeline_trace::handler_ns : pipeline_trace::run_ns));
    }
    BOOST_TEST(path.other_runs.empty());
}

BOOST_AUTO_TEST_CASE(clocks_that_differ_change_nothing) {
    pipeline_trace trace = traced();
    const work_path before = follow_work(1, 0, trace.traces, trace.names);
    trace.shift_clock(1, 3'000'000'000);
    const work_path after = follow_work(1, 0, trace.traces, trace.names);
    BOOST_TEST(after.total_ns == before.total_ns);
    BOOST_TEST_REQUIRE(after.steps.size() == before.steps.size());
    for (std::size_t i = 0; i < after.steps.size(); ++i)
        BOOST_TEST(after.steps[i].begins_ns == before.steps[i].begins_ns);
}

BOOST_AUTO_TEST_CASE(an_event_that_was_read_twice_is_one_step) {
    pipeline_trace trace = traced();
    const std::size_t once = follow_work(1, 0, trace.traces, trace.names).steps.size();
    trace.traces.push_back(trace.traces.front());
    BOOST_TEST(follow_work(1, 0, trace.traces, trace.names).steps.size() == once);
}

BOOST_AUTO_TEST_CASE(the_latest_run_is_followed_unless_one_is_named) {
    pipeline_trace trace = traced();
    const std::size_t once = follow_work(1, 0, trace.traces, trace.names).steps.size();
    for (node_trace& t : trace.traces) {
        const std::vector<trace_event> first = t.events;
        for (trace_event e : first) {
            e.run = run + 1;
            for (std::int64_t* time : {&e.sent_ns, &e.enqueued_ns, &e.started_ns, &e.ended_ns})
                *time += 1'000'000'000;
            t.events.push_back(e);
        }
    }
    const work_path latest = follow_work(1, 0, trace.traces, trace.names);
    BOOST_TEST(latest.run == run + 1);
    BOOST_TEST(latest.steps.size() == once);
    BOOST_TEST((latest.other_runs == std::set{run}));
    BOOST_TEST(follow_work(1, run, trace.traces, trace.names).run == run);
}

BOOST_AUTO_TEST_CASE(what_belongs_to_no_run_is_no_piece_of_work) {
    const pipeline_trace trace = traced(0);
    BOOST_TEST(follow_work(1, 0, trace.traces, trace.names).steps.empty());
    work_ranges ranges;
    ranges.add(trace.traces[0].events);
    BOOST_TEST(ranges.by_run().empty());
}

BOOST_AUTO_TEST_CASE(what_has_passed_is_shown_at_once) {
    two_nodes cluster{100};
    make_run(cluster, run);
    const outcome seen = look(cluster, {"follow", "work=1"});
    BOOST_TEST(seen.code == 0, seen.talk);
    BOOST_TEST(seen.shows("work 1 of run 5c6879d3: "));
    BOOST_TEST(seen.shows("Activation"));
    BOOST_TEST(seen.shows("(device)"));
    BOOST_TEST(seen.talk == "");
    const outcome as_json = look(cluster, {"follow", "work=1", "run=5c6879d3"}, json());
    BOOST_TEST(as_json.shows(R"({"event":"work","work":1,"run":"0x5c6879d3","total_ns":)"));
}

BOOST_AUTO_TEST_CASE(json_has_a_run_as_the_names_of_its_actors_have_it) {
    two_nodes cluster{100};
    make_run(cluster, 0x0ea85bb9);
    BOOST_TEST(look(cluster, {"follow", "work=1"}, json()).shows(R"("run":"0x0ea85bb9")"));
}

// Of a minibatch that goes on while later ones have begun.
BOOST_AUTO_TEST_CASE(what_is_under_way_is_waited_for) {
    two_nodes cluster{3};
    make_run(cluster, run);
    std::vector<trace_event> later; // the second half of what node 1 has of minibatch 1
    auto& events = cluster.at(1).events;
    const auto of_it = [](const trace_event& e) { return e.work.value() == 1; };
    const std::size_t whole = static_cast<std::size_t>(std::ranges::count_if(events, of_it));
    while (later.size() < whole / 2) {
        const auto last = std::find_if(events.rbegin(), events.rend(), of_it);
        later.push_back(*last);
        events.erase(std::next(last).base());
    }
    int reads = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() == type_id_of<proto::ReadTrace>() && ++reads == 4)
            cluster.at(1).events.insert(cluster.at(1).events.end(), later.begin(), later.end());
    };
    const outcome seen = look(cluster, {"follow", "work=1"});
    BOOST_TEST(seen.code == 0, seen.talk);
    std::size_t steps = 0;
    for (const std::uint64_t node : {1u, 2u})
        steps += static_cast<std::size_t>(std::ranges::count_if(cluster.at(node).events, of_it));
    BOOST_TEST(seen.shows("work 1 of run 5c6879d3: " + std::to_string(steps) + " steps, "));
}

BOOST_AUTO_TEST_CASE(a_piece_of_work_of_a_program_is_called_a_phase) {
    all_names names;
    names[node_id{1}] = {.name = "a", .actors = {{actor_number{3}, "5c6879d3/scheduler-0"}}};
    BOOST_TEST(has_phases(names, 0x5c6879d3));
    BOOST_TEST(!has_phases(names, 0x5c6879d4));
    BOOST_TEST(!has_phases(names, 0));
    const work_path path{.work = 42,
                         .run = 0x5c6879d3,
                         .steps = {{.what = "Partial", .to = {node_id{1}, actor_number{3}}}}};
    std::ostringstream out;
    print_work(out, path, names);
    BOOST_TEST(out.str().starts_with("phase 42 of run 5c6879d3: 1 step, "), out.str());
    tail_message message{.type = "Partial", .actor = "5c6879d3/scheduler-0"};
    message.event.to_actor = actor_number{3};
    message.event.run = 0x5c6879d3;
    message.event.work = work_id{42};
    BOOST_TEST(tail_line(message, node_id{1}, names, 0).find("  phase 42  ") != std::string::npos);
    message.event.run = 0x5c6879d4;
    BOOST_TEST(tail_line(message, node_id{1}, names, 0).find("  minibatch 42  ") !=
               std::string::npos);
}

// An older run that the nodes remember has larger numbers.
BOOST_AUTO_TEST_CASE(the_next_piece_of_work_is_one_that_a_run_which_is_active_begins) {
    two_nodes cluster{3};
    make_run(cluster, run);
    const auto with_old_run = [&] {
        for (const std::uint64_t node : {1u, 2u}) {
            auto& events = cluster.at(node).events;
            events.insert(events.begin(), events.front());
            events.front().run = run - 1;
            events.front().work = work_id{10'000};
        }
    };
    with_old_run();
    int reads = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() != type_id_of<proto::ReadTrace>() || (++reads != 2 && reads != 4))
            return;
        cluster.trace.run(reads == 2 ? 3 : 4, 3);
        for (const node_trace& t : cluster.trace.traces)
            cluster.at(t.node.value()).events = t.events;
        make_run(cluster, run);
        with_old_run();
    };
    const outcome seen = look(cluster, {"follow", "work=next"}, json());
    BOOST_TEST(seen.code == 0, seen.talk);
    BOOST_TEST(seen.shows(R"({"event":"work","work":3,"run":"0x5c6879d3")"));
}

BOOST_AUTO_TEST_CASE(a_piece_of_work_that_is_not_there_is_code_1_and_says_what_there_is) {
    two_nodes cluster{100};
    make_run(cluster, run);
    for (const std::uint64_t node : {1u, 2u})
        std::erase_if(cluster.at(node).events, [](const trace_event& e) {
            return e.work.value() < 10 || e.work.value() == none;
        });
    const outcome seen = look(cluster, {"follow", "work=5"});
    BOOST_TEST(seen.code == 1);
    BOOST_TEST(seen.says("piece of work 5 has passed and is no longer remembered, or never was; "
                         "the nodes remember 10 to 99 of run 5c6879d3"));
    const outcome other = look(cluster, {"follow", "work=5", "run=00000007"});
    BOOST_TEST(other.code == 1);
    BOOST_TEST(other.says("run 00000007 is not active, and no piece of work 5 of run 00000007 "
                          "is remembered"));
}

BOOST_AUTO_TEST_SUITE_END()

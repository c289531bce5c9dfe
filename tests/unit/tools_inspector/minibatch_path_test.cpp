#include <boost/test/unit_test.hpp>

#include <sstream>

#include "tests/unit/tools_inspector/pipeline_trace.hpp"
#include "tools/inspector/views.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

minibatch_path joined(const pipeline_trace& trace, std::uint64_t minibatch) {
    return join_path(minibatch, trace.traces, trace.names);
}

std::string printed(const minibatch_path& path, const all_names& names) {
    std::ostringstream out;
    print_path(out, path, names);
    return out.str();
}

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_minibatch_path)

BOOST_AUTO_TEST_CASE(a_minibatch_goes_through_every_stage_and_back) {
    pipeline_trace trace{3};
    trace.run(42, 7);
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST(path.complete);
    BOOST_TEST_REQUIRE(path.hops.size() ==
                       7u); // 3 forward, the turn, 2 backward, 1 back to the data source
    const hop_kind kinds[] = {hop_kind::forward, hop_kind::forward,  hop_kind::forward,
                              hop_kind::turn,    hop_kind::backward, hop_kind::backward,
                              hop_kind::backward};
    for (std::size_t i = 0; i < path.hops.size(); ++i)
        BOOST_TEST((path.hops[i].kind == kinds[i]), "hop " << i);
    BOOST_TEST(path.hops[0].from.actor.value() == pipeline_trace::source);
    BOOST_TEST(path.hops[6].to.actor.value() == pipeline_trace::source);
    BOOST_TEST(path.total_ns > 6 * pipeline_trace::run_ns);
}

BOOST_AUTO_TEST_CASE(a_hop_has_wire_queue_and_run_time) {
    pipeline_trace trace{2};
    trace.run(42, 7);
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST_REQUIRE(path.hops.size() == 5u);
    const hop& h = path.hops[1];
    BOOST_TEST(h.wire_ns.value() == pipeline_trace::wire_ns);
    BOOST_TEST(h.mailbox_ns.value() == pipeline_trace::mailbox_ns);
    BOOST_TEST(h.queue_ns.value() ==
               pipeline_trace::mailbox_ns + pipeline_trace::handler_ns + pipeline_trace::queue_ns);
    BOOST_TEST(h.run_ns.value() == pipeline_trace::run_ns);
    BOOST_TEST(!path.hops[2].wire_ns.has_value()); // the turn
    BOOST_TEST(!path.hops[4].run_ns.has_value());  // nothing is computed at the data source
}

BOOST_AUTO_TEST_CASE(each_stage_tells_its_version_at_forward_and_backward_and_what_it_made) {
    pipeline_trace trace{3};
    trace.run(42, 7);
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST_REQUIRE(path.stages.size() == 3u);
    for (std::uint64_t s = 0; s < 3; ++s) {
        BOOST_TEST(path.stages[s].stage.actor.value() == 30 + s);
        BOOST_TEST(path.stages[s].forward == std::set<std::uint64_t>{7 + s});
        BOOST_TEST(path.stages[s].equal());
        BOOST_TEST(path.stages[s].produced.value() == 8 + s);
        BOOST_TEST(path.stages[s].lag().value() == 0u);
    }
    BOOST_TEST(printed(path, trace.names)
                   .find("b/stage-1: forward with version 8, backward with 8 (equal); update of 8 "
                         "made 9, lag 0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_backward_pass_with_another_version_is_said_loudly) {
    pipeline_trace trace{2};
    trace.run(42, 7);
    for (trace_event& e : trace.traces[1].events)
        if (e.kind == trace_kind::compute && e.type == 1)
            e.state = weight_version{9};
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST(!path.stages[1].equal());
    BOOST_TEST(printed(path, trace.names).find("backward with 9 (NOT EQUAL)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(other_minibatches_do_not_get_in_the_way) {
    pipeline_trace trace{2};
    trace.run(41, 6);
    trace.run(42, 7);
    trace.run(43, 8);
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST(path.complete);
    BOOST_TEST(path.hops.size() == 5u);
    BOOST_TEST(path.stages[0].forward == std::set<std::uint64_t>{7});
}

BOOST_AUTO_TEST_CASE(of_two_runs_the_latest_is_followed) {
    pipeline_trace trace{2};
    trace.run(42, 7);
    pipeline_trace earlier{3};
    earlier.run(42, 100);
    constexpr std::int64_t hour_ns = 3'600'000'000'000;
    for (std::size_t n = 0; n < 2; ++n)
        for (trace_event e : earlier.traces[n].events) {
            e.from_actor = actor_number{e.from_actor.value() + 1000};
            e.to_actor = actor_number{e.to_actor.value() + 1000};
            e.sequence += 1000;
            for (std::int64_t* when : {&e.sent_ns, &e.enqueued_ns, &e.started_ns, &e.ended_ns})
                *when -= hour_ns;
            trace.traces[n].events.push_back(e);
        }
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST(path.complete);
    BOOST_TEST(path.hops.size() == 5u);
    BOOST_TEST(path.stages.size() == 2u);
    BOOST_TEST(path.total_ns < hour_ns);
}

BOOST_AUTO_TEST_CASE(events_that_are_read_twice_count_once) {
    pipeline_trace trace{2};
    trace.run(42, 7);
    auto twice = trace.traces;
    for (node_trace& t : twice)
        std::erase_if(t.events, [](const trace_event& e) { return e.kind == trace_kind::compute; });
    twice.insert(twice.end(), trace.traces.begin(), trace.traces.end());
    BOOST_TEST(join_path(42, twice, trace.names).hops.size() == 5u);
}

BOOST_AUTO_TEST_CASE(clocks_of_different_nodes_are_brought_together) {
    pipeline_trace trace{2};
    trace.run(42, 7);
    const minibatch_path before = joined(trace, 42);
    trace.shift_clock(1, 3'600'000'000'000); // node b was started an hour earlier
    const minibatch_path after = joined(trace, 42);
    BOOST_TEST_REQUIRE(after.hops.size() == before.hops.size());
    for (std::size_t i = 0; i < after.hops.size(); ++i)
        BOOST_TEST((after.hops[i].wire_ns == before.hops[i].wire_ns), "hop " << i);
    BOOST_TEST(after.total_ns == before.total_ns);
}

BOOST_AUTO_TEST_CASE(lost_device_work_leaves_the_versions_that_the_messages_tell) {
    pipeline_trace trace{2};
    trace.run(42, 7);
    trace.forget([](const trace_event& e) { return e.kind == trace_kind::compute; });
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST(!path.complete);
    BOOST_TEST_REQUIRE(path.stages.size() == 2u);
    BOOST_TEST(path.stages[0].forward ==
               std::set<std::uint64_t>{7}); // from the Activation that it sent
    BOOST_TEST(!path.stages[1].known());
    BOOST_TEST(!path.stages[1].produced.has_value());
    BOOST_TEST(printed(path, trace.names).find("(not known whether equal)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(lost_messages_leave_a_path_that_says_it_is_not_complete) {
    pipeline_trace trace{3};
    trace.run(42, 7);
    bool first = true;
    trace.forget([&](const trace_event& e) {
        return e.kind == trace_kind::message && e.type == pipeline_trace::type_of("Activation") &&
               std::exchange(first, false);
    });
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST(!path.complete);
    BOOST_TEST(path.stages.size() == 3u); // its device work is still there
    BOOST_TEST(!printed(path, trace.names).empty());
}

BOOST_AUTO_TEST_CASE(a_minibatch_still_on_its_way_is_not_complete) {
    pipeline_trace trace{2};
    trace.run(42, 7);
    const std::int64_t half = joined(trace, 42).hops[2].sent_ns;
    trace.forget([&](const trace_event& e) { return e.started_ns > half; });
    const minibatch_path path = joined(trace, 42);
    BOOST_TEST(!path.complete);
    BOOST_TEST(path.hops.size() == 2u);
}

BOOST_AUTO_TEST_CASE(microbatches_are_paired_in_the_order_of_gpipe) {
    // One stage, two microbatches: F0 F1 B1 B0 U.
    pipeline_trace trace{1};
    trace.run(42, 7);
    trace.run(42, 7);
    auto& events = trace.traces[0].events;
    std::int64_t now = 1'000'000;
    int updates = 0;
    for (const std::uint64_t label : {0u, 1u, 2u})
        for (trace_event& e : events)
            if (e.kind == trace_kind::compute && e.type == label) {
                e.started_ns = now += 100;
                e.ended_ns = now += 1000;
            }
    for (trace_event& e : events)
        if (e.kind == trace_kind::message && e.type == pipeline_trace::type_of("Activation"))
            e.sent_ns = e.enqueued_ns = e.started_ns = e.ended_ns = 999'000 + updates++;
    const minibatch_path path = joined(trace, 42);
    std::vector<std::int64_t> queues;
    for (const hop& h : path.hops)
        if (h.kind == hop_kind::turn)
            queues.push_back(h.queue_ns.value());
    // The second forward pass is the first to be run backward: at once. The first waits for three passes.
    BOOST_TEST(queues == (std::vector<std::int64_t>{3 * 100 + 2 * 1000, 100}),
               boost::test_tools::per_element());
    BOOST_TEST(path.complete);
}

BOOST_AUTO_TEST_CASE(nothing_gives_an_empty_path) {
    const minibatch_path path = join_path(42, {}, {});
    BOOST_TEST(path.hops.empty());
    BOOST_TEST(!path.complete);
}

// Takes longer than the tests may where every message is compared with every actor.
BOOST_AUTO_TEST_CASE(as_many_actors_as_a_node_likes_to_name_are_joined_in_time) {
    constexpr std::uint64_t actors = 200'000;
    node_trace trace{node_id{1}, {}, {}};
    for (std::uint64_t i = 0; i < actors; ++i) {
        trace_event e;
        e.type = pipeline_trace::type_of("Activation");
        e.from_node = node_id{1};
        e.from_actor = actor_number{actors - i};
        e.to_actor = actor_number{actors - i + 1};
        e.sequence = i + 1;
        e.work = minibatch_id{42};
        e.started_ns = e.ended_ns = static_cast<std::int64_t>(i);
        trace.events.push_back(e);
    }
    BOOST_TEST(join_path(42, {trace}, {}).hops.size() == actors);
}

// Likewise where every message, or every pass backward, is compared with every pass forward.
BOOST_AUTO_TEST_CASE(as_many_microbatches_as_a_node_likes_to_report_are_joined_in_time) {
    constexpr std::uint64_t microbatches = 200'000;
    pipeline_trace one{1};
    one.run(42, 7);
    node_trace trace{node_id{1}, {}, {}};
    for (const trace_event& e : one.traces[0].events)
        for (std::uint64_t i = 0; i < microbatches; ++i) {
            trace.events.push_back(e);
            trace.events.back().sequence += 1000 * i;
        }
    BOOST_TEST(join_path(42, {trace}, one.names).hops.size() == 3 * microbatches);
}

BOOST_AUTO_TEST_CASE(the_range_of_minibatches_is_that_of_the_activations) {
    pipeline_trace trace{2};
    trace.run(5, 0);
    trace.run(6, 1);
    minibatch_range range;
    trace.run(4, 0); // of a run that began later
    for (const node_trace& t : trace.traces)
        range.add(t.node, t.clock, t.events);
    BOOST_TEST(range.oldest.value() == 4u);
    BOOST_TEST(range.newest.value() == 6u);
    BOOST_TEST_REQUIRE(range.latest.size() == 2u);
    for (const int stage : {0, 1})
        BOOST_TEST(
            range.latest.at({pipeline_trace::node_of(stage), pipeline_trace::actor_of(stage)})
                .minibatch == 4u);
}

BOOST_AUTO_TEST_SUITE_END()

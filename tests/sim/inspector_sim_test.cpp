// The inspector's joins on the traces of real runs in the simulator.
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/sim/pipeline_sim.hpp"
#include "tools/inspector/chrome_trace.hpp"
#include "tools/inspector/minibatch_path.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

// What an observer gets from the nodes of a run, without the network between.
struct recorded_run {
    explicit recorded_run(test::pipeline_sim& sim) {
        read(sim.run_node());
        for (std::size_t n = 0; n < 2; ++n)
            read(sim.node(n));
    }

    void read(node_runtime& node) {
        node_names& n = names[node.node()];
        n.name = node.options().name;
        for (const actor_status& a : node.actors())
            n.actors[a.address.actor] = a.name;
        n.labels = node.trace().labels();
        node_trace trace{node.node(), {}, {}};
        for (std::uint64_t cursor = 0;;) {
            trace_batch batch = node.trace().read(cursor, 4096);
            BOOST_TEST_REQUIRE(batch.lost == 0u);
            if (batch.events.empty())
                break;
            trace.events.insert(trace.events.end(), batch.events.begin(), batch.events.end());
            cursor = batch.next;
        }
        traces.push_back(std::move(trace));
    }

    all_names names;
    std::vector<node_trace> traces;
};

test::pipeline_sim trained(const std::string& schedule) {
    return test::pipeline_sim{
        {.seed = 3, .nodes = 2, .app = test::pipeline_app(schedule, {3, 3}, 1)}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_on_runs)

BOOST_AUTO_TEST_CASE(every_minibatch_of_pipedream_has_a_complete_path_with_equal_versions) {
    test::pipeline_sim sim = trained("pipedream");
    sim.train({});
    const recorded_run run{sim};
    minibatch_range range;
    for (const node_trace& t : run.traces)
        range.add(t.node, t.clock, t.events);
    BOOST_TEST(range.oldest.value() == 0u);
    BOOST_TEST(range.newest.value() == 8u); // 70 samples in eights
    for (std::uint64_t m = 0; m <= 8; ++m) {
        const minibatch_path path = join_path(m, run.traces, run.names);
        BOOST_TEST(path.complete, "minibatch " << m);
        BOOST_TEST_REQUIRE(path.hops.size() == 5u);
        BOOST_TEST_REQUIRE(path.stages.size() == 2u);
        for (const stage_weights& s : path.stages)
            BOOST_TEST(s.equal(), "minibatch " << m);
        // The delayed-version equation: stage 0 lags one version behind but for its first minibatch.
        BOOST_TEST(path.stages[0].lag().value() == (m == 0 ? 0u : 1u));
        BOOST_TEST(path.stages[1].lag().value() == 0u);
        BOOST_TEST(path.stages[1].produced.value() == m + 1);
        for (const hop& h : path.hops)
            BOOST_TEST((!h.queue_ns || *h.queue_ns >= 0),
                       "nothing is computed before it has arrived");
    }
}

BOOST_AUTO_TEST_CASE(every_minibatch_of_gpipe_has_a_path_for_each_microbatch) {
    test::pipeline_sim sim = trained("gpipe");
    sim.train({});
    const recorded_run run{sim};
    for (std::uint64_t m = 0; m <= 8; ++m) {
        const minibatch_path path = join_path(m, run.traces, run.names);
        BOOST_TEST(path.complete, "minibatch " << m);
        BOOST_TEST(path.hops.size() == 15u, "minibatch " << m); // three microbatches
        for (const stage_weights& s : path.stages) {
            BOOST_TEST(s.equal());
            BOOST_TEST(s.lag().value() == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_exported_trace_of_a_run_keeps_the_rules_and_misses_no_arrow) {
    test::pipeline_sim sim = trained("pipedream");
    sim.train({});
    const recorded_run run{sim};
    const std::string file = "inspector_sim_trace.json";
    chrome_counts counts;
    {
        std::ofstream out{file};
        chrome_trace chrome{out, 0};
        for (const node_trace& t : run.traces)
            chrome.add_node(t.node, run.names.at(t.node).name, t.clock);
        for (const node_trace& t : run.traces) {
            trace_page page;
            page.events = t.events;
            chrome.add(t.node, page, run.names);
        }
        counts = chrome.finish();
    }
    BOOST_TEST(counts.slices > 200u);
    BOOST_TEST(counts.backwards == 0u);
    BOOST_TEST(counts.without_sender == 0u);
    BOOST_TEST(
        std::system(
            ("python3 " TROUPE_SOURCE_ROOT "/tests/interop/validate_trace.py " + file).c_str()) ==
        0);
    std::remove(file.c_str());
}

BOOST_AUTO_TEST_SUITE_END()

// What a user sees of a made-up cluster: the inspector's views over a scripted_cluster.
#pragma once

#include <boost/test/unit_test.hpp>

#include <sstream>

#include "tests/unit/tools_inspector/scripted_cluster.hpp"
#include "tools/inspector/inspect.hpp"

namespace troupe::inspector {

struct outcome {
    int code = -1;
    std::string out;
    std::string talk;

    bool says(const std::string& piece) const { return talk.find(piece) != std::string::npos; }
    bool shows(const std::string& piece) const { return out.find(piece) != std::string::npos; }
    std::size_t lines() const { return static_cast<std::size_t>(std::ranges::count(talk, '\n')); }
};

inline outcome look(scripted_cluster& cluster, const std::vector<std::string>& view,
                    inspect_options options = {}) {
    const monotonic_time time;
    options.address = options.address.empty() ? "a:1" : options.address;
    options.interval = std::chrono::milliseconds{1};
    options.patience = std::chrono::milliseconds{20};
    BOOST_TEST_REQUIRE(parse_view(view, options).ok());
    std::ostringstream out;
    std::ostringstream talk;
    const int code = inspect_over(cluster, node_id{99}, time, options, out, talk);
    BOOST_TEST(cluster.closed);
    return {code, out.str(), talk.str()};
}

inline inspect_options json() {
    inspect_options options;
    options.json = true;
    return options;
}

struct two_nodes : scripted_cluster {
    explicit two_nodes(int minibatches = 1) : trace{2} {
        for (int m = 0; m < minibatches; ++m)
            trace.run(static_cast<std::uint64_t>(m), static_cast<std::uint64_t>(m));
        add(trace);
    }
    pipeline_trace trace;
};

// Another run of the same cluster, with actors of its own; its data source is on node b.
inline void add_second_run(scripted_cluster& cluster, int minibatches) {
    constexpr std::uint64_t more = 1'000'000;
    const auto other = [](node_id node) { return node_id{3 - node.value()}; };
    const two_nodes second{minibatches};
    for (const node_trace& t : second.trace.traces) {
        scripted_cluster::node& n = cluster.at(other(t.node).value());
        for (trace_event e : t.events) {
            e.from_node = other(e.from_node);
            e.from_actor = actor_number{e.from_actor.value() + more};
            e.to_actor = actor_number{e.to_actor.value() + more};
            e.sequence += more;
            n.events.push_back(e);
        }
        for (const auto& [number, name] : second.trace.names.at(t.node).actors)
            n.actors.push_back({actor_number{number.value() + more}, name});
    }
}

// Its actors are gone; what they did is remembered.
inline void end_run(scripted_cluster& cluster) {
    for (const std::uint64_t node : {1u, 2u})
        cluster.at(node).actors.clear();
}

} // namespace troupe::inspector

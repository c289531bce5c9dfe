// How nodes that have lost each other come together again.
#include <algorithm>

#include "schemas/probe.capnp.h"
#include "tests/unit/actors_cluster/simulated_cluster.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

namespace {

using names = std::vector<std::string>;

// Nodes a, b and c.
struct three_nodes : simulated_cluster {
    node_runtime& a = add("a");
    node_runtime& b = add("b", "sim:a");
    node_runtime& c = add("c", "sim:a");

    three_nodes() {
        BOOST_TEST(joined("b"));
        BOOST_TEST(joined("c"));
        sim.run_for(1s);
        for (const char* name : {"a", "b", "c"})
            news[name].joined.clear();
    }

    bool are_together() {
        const std::set all{a.node(), b.node(), c.node()};
        return news["a"].members == all && news["b"].members == all && news["c"].members == all;
    }
};

// A node at another address that takes the name b.
class namesake_actor final : public actor {
  public:
    explicit namesake_actor(actor_context& context) : actor{context} {
        on<proto::PeerUp>(&namesake_actor::join);
        on<proto::Welcome>(&namesake_actor::take<proto::Welcome>);
        on<proto::Join>(&namesake_actor::take<proto::Join>);
        on<proto::Heartbeat>(&namesake_actor::take<proto::Heartbeat>);
        on<proto::Probe>(&namesake_actor::beat);
    }

  private:
    void on_start() override { runtime().subscribe_peers(self()); }
    void join(proto::PeerUp::Reader news, const frame&) {
        to_ = {node_id{news.getNode()}, well_known::cluster};
        frame_builder<proto::Join> request;
        write_member(request.body().initMember(),
                     {.node = self().node, .name = "b", .address = "sim:b2"});
        send(to_, std::move(request));
        after(500ms, frame_builder<proto::Probe>{});
    }
    void beat(proto::Probe::Reader, const frame&) {
        send(to_, frame_builder<proto::Heartbeat>{});
        after(500ms, frame_builder<proto::Probe>{});
    }
    template <class Message>
    void take(typename Message::Reader, const frame&) {}

    actor_address to_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_reunion)

BOOST_AUTO_TEST_CASE(nodes_that_were_cut_off_meet_again_when_the_cut_is_over) {
    for (const duration cut : {10s, 60s, 600s}) {
        three_nodes n;
        n.sim.partition(n.a, n.b);
        n.sim.run_for(cut);
        BOOST_TEST(n.news["a"].lost == names{"b lost"}, boost::test_tools::per_element());
        BOOST_TEST(n.news["b"].lost == names{"a lost"}, boost::test_tools::per_element());
        BOOST_TEST(n.said["a"].back().ends_with("; this node goes on trying to reach it for a day"),
                   n.said["a"].back());
        n.sim.heal();
        // The longest wait between two attempts, and the time of one that the cut has begun.
        BOOST_TEST(n.sim.run_until([&] { return n.are_together(); }, 36s));
        BOOST_TEST(n.news["a"].joined == names{"b"}, boost::test_tools::per_element());
        BOOST_TEST(n.news["b"].joined == names{"a"}, boost::test_tools::per_element());
        n.sim.run_for(5min);
        BOOST_TEST(n.are_together());
        BOOST_TEST(n.news["a"].lost.size() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_node_that_was_stopped_for_too_long_comes_back) {
    three_nodes n;
    n.sim.stop(n.b);
    n.sim.run_for(20s);
    BOOST_TEST(n.news["a"].lost == names{"b lost"}, boost::test_tools::per_element());
    n.sim.resume(n.b);
    BOOST_TEST(n.sim.run_until([&] { return n.news["b"].lost.size() == 2; }, 10s));
    BOOST_TEST(n.sim.run_until([&] { return n.are_together(); }, 36s));
}

BOOST_AUTO_TEST_CASE(who_joined_one_side_of_a_cut_is_met_by_the_other) {
    three_nodes n;
    for (node_runtime* other : {&n.b, &n.c})
        n.sim.partition(n.a, *other);
    n.sim.run_for(10s);
    node_runtime& d = n.add("d", "sim:a");
    node_runtime& e = n.add("e", "sim:b");
    n.sim.network().cut(d.node(), n.b.node());
    n.sim.network().cut(d.node(), n.c.node());
    n.sim.network().cut(e.node(), n.a.node());
    n.sim.network().cut(e.node(), d.node());
    BOOST_TEST(n.joined("d"));
    BOOST_TEST(n.joined("e"));
    n.sim.run_for(10s);
    n.sim.heal();
    const std::set all{n.a.node(), n.b.node(), n.c.node(), d.node(), e.node()};
    BOOST_TEST(n.sim.run_until(
        [&] {
            for (const char* name : {"a", "b", "c", "d", "e"})
                if (n.news[name].members != all)
                    return false;
            return true;
        },
        60s));
}

BOOST_AUTO_TEST_CASE(who_has_left_or_died_does_not_come_back) {
    three_nodes n;
    n.sim.partition(n.a, n.b);
    n.sim.partition(n.a, n.c);
    n.sim.run_for(10s);
    n.b.stop();
    n.sim.kill(n.c);
    n.sim.run_for(10s);
    n.sim.heal();
    n.sim.run_for(10min);
    BOOST_TEST((n.news["a"].members == std::set{n.a.node()}));
    BOOST_TEST(n.news["a"].joined.empty());
}

BOOST_AUTO_TEST_CASE(a_node_that_was_started_anew_is_another_one) {
    three_nodes n;
    n.sim.partition(n.a, n.b);
    n.sim.run_for(10s);
    n.sim.kill(n.b);
    n.sim.run_for(10s);
    n.news["b"] = {};
    n.outcome["b"].reset();
    node_runtime& again = n.add("b", "sim:c");
    BOOST_TEST(n.joined("b"));
    n.sim.run_for(10min);
    const std::set all{n.a.node(), n.c.node(), again.node()};
    for (const char* name : {"a", "b", "c"})
        BOOST_TEST((n.news[name].members == all), name);
}

BOOST_AUTO_TEST_CASE(whose_name_another_node_has_taken_meanwhile_stays_out_and_says_why) {
    three_nodes n;
    n.sim.partition(n.a, n.b);
    n.sim.partition(n.c, n.b);
    n.sim.run_for(10s);
    node_runtime& other = n.sim.add_node("b2", peer_role::member);
    other.spawn_as<namesake_actor>(well_known::cluster, "namesake");
    other.connect("sim:a");
    n.sim.run_for(5s);
    BOOST_TEST(n.news["a"].joined == names{"b"}, boost::test_tools::per_element());
    n.sim.heal();
    n.sim.run_for(2min);
    BOOST_TEST(!n.news["b"].members.contains(n.a.node()));
    BOOST_TEST(n.news["b"].members.contains(n.c.node()));
    const auto refusal = std::ranges::find_if(n.said["b"], [](const std::string& s) {
        return s.starts_with(
            "node a does not take this node, which goes on trying for a day: the name b is in use");
    });
    BOOST_TEST((refusal != n.said["b"].end()));
}

BOOST_AUTO_TEST_CASE(a_run_that_has_lost_a_node_does_not_get_it_back) {
    three_nodes n;
    node_runtime& run = n.add("run", "sim:a", peer_role::client);
    BOOST_TEST(n.joined("run"));
    n.sim.run_for(1s);
    for (node_runtime* other : {&n.a, &n.c, &run})
        n.sim.partition(n.b, *other);
    n.sim.run_for(10s);
    n.sim.heal();
    n.sim.run_for(2min);
    BOOST_TEST((n.news["a"].members == std::set{n.a.node(), n.b.node(), n.c.node(), run.node()}));
    BOOST_TEST((n.news["b"].members == std::set{n.a.node(), n.b.node(), n.c.node()}));
    BOOST_TEST((n.news["run"].members == std::set{n.a.node(), n.c.node(), run.node()}));
}

BOOST_AUTO_TEST_SUITE_END()

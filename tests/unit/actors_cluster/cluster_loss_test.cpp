// Which members are lost, when, and which are not.
#include "schemas/probe.capnp.h"
#include "tests/unit/actors_cluster/simulated_cluster.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

namespace {

// A cluster actor that joins the peers of its node, and sends no heartbeats; something else instead, while it may.
class chatterer_actor final : public actor {
  public:
    chatterer_actor(actor_context& context, const bool& talks) : actor{context}, talks_{talks} {
        on<proto::PeerUp>(&chatterer_actor::join);
        on<proto::Probe>(&chatterer_actor::talk);
        on<proto::Heartbeat>(&chatterer_actor::ignore); // a Rejected would be a sign of life
    }

  private:
    void on_start() override { runtime().subscribe_peers(self()); }
    void join(proto::PeerUp::Reader peer, const frame&) {
        to_ = {node_id{peer.getNode()}, well_known::inspector};
        frame_builder<proto::Join> request;
        write_member(request.body().initMember(),
                     {.node = self().node, .name = "chatterer", .address = "sim:chatterer"});
        send({to_.node, well_known::cluster}, std::move(request));
        after(500ms, frame_builder<proto::Probe>{});
    }
    void talk(proto::Probe::Reader, const frame&) {
        if (talks_)
            send(to_, frame_builder<proto::Probe>{});
        after(500ms, frame_builder<proto::Probe>{});
    }

    void ignore(proto::Heartbeat::Reader, const frame&) {}

    const bool& talks_;
    actor_address to_;
};

// Sends without end, as fast as its node lets it.
class flooding_actor final : public actor {
  public:
    flooding_actor(actor_context& context, actor_address to) : actor{context}, to_{to} {
        on<proto::Probe>(&flooding_actor::flood);
    }

  private:
    void on_start() override { send(self(), frame_builder<proto::Probe>{}); }
    void flood(proto::Probe::Reader, const frame&) {
        send(to_, frame_builder<proto::Probe>{});
        after(1ms, frame_builder<proto::Probe>{});
    }

    actor_address to_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_loss)

BOOST_AUTO_TEST_CASE(a_killed_node_is_lost_within_a_second) {
    simulated_cluster c;
    c.add("a");
    node_runtime& b = c.add("b", "sim:a");
    BOOST_TEST(c.joined("b"));
    c.sim.kill(b);
    BOOST_TEST(c.sim.run_until([&] { return c.news["a"].lost.size() == 1; }, 1s));
    BOOST_TEST(c.news["a"].lost[0] == "b lost");
}

BOOST_AUTO_TEST_CASE(a_stopped_node_is_lost_within_five_seconds) {
    for (const duration moment : {0ms, 1ms, 125ms, 250ms, 375ms, 499ms}) { // between two heartbeats
        simulated_cluster c;
        c.add("a");
        node_runtime& b = c.add("b", "sim:a");
        BOOST_TEST(c.joined("b"));
        c.sim.run_for(2s + moment);
        c.sim.stop(b);
        BOOST_REQUIRE(c.sim.run_until([&] { return c.news["a"].lost.size() == 1; }, 5s));
        BOOST_TEST(c.news["a"].lost[0] == "b lost");
        c.sim.resume(b); // it finds itself alone
        BOOST_TEST(c.sim.run_until([&] { return c.news["b"].lost.size() == 1; }, 10s));
    }
}

BOOST_AUTO_TEST_CASE(partitioned_nodes_lose_each_other_and_keep_the_rest) {
    simulated_cluster c;
    node_runtime& a = c.add("a");
    node_runtime& b = c.add("b", "sim:a");
    c.add("c", "sim:a");
    BOOST_TEST(c.joined("b"));
    BOOST_TEST(c.joined("c"));
    c.sim.partition(a, b);
    c.sim.run_for(10s);
    BOOST_TEST(c.news["a"].lost == std::vector<std::string>{"b lost"},
               boost::test_tools::per_element());
    BOOST_TEST(c.news["b"].lost == std::vector<std::string>{"a lost"},
               boost::test_tools::per_element());
    BOOST_TEST(c.news["c"].lost.empty());
}

BOOST_AUTO_TEST_CASE(a_quiet_cluster_stays_together) {
    simulated_cluster c;
    c.add("a");
    c.add("b", "sim:a");
    BOOST_TEST(c.joined("b"));
    c.sim.run_for(10min);
    BOOST_TEST(c.news["a"].lost.empty());
    BOOST_TEST(c.news["b"].lost.empty());
}

BOOST_AUTO_TEST_CASE(a_member_that_sends_anything_is_alive_until_it_falls_silent) {
    bool talks = true;
    simulated_cluster c;
    c.add("a");
    c.sim
        .add_node("chatterer", peer_role::member,
                  [&](node_runtime& node) {
                      node.spawn_as<chatterer_actor>(well_known::cluster, "chatterer", talks);
                  })
        .connect("sim:a");
    c.sim.run_for(20s);
    BOOST_TEST(c.news["a"].joined.size() == 1u);
    BOOST_TEST(c.news["a"].lost.empty());
    talks = false;
    c.sim.run_for(5s);
    BOOST_TEST(c.news["a"].lost == std::vector<std::string>{"chatterer lost"},
               boost::test_tools::per_element());
}

// It goes on, or is told that the nodes have given it up.
BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_for_a_while_is_waited_for) {
    simulated_cluster c;
    c.add("a");
    node_runtime& run = c.add("run", "sim:a", peer_role::client);
    BOOST_TEST(c.joined("run"));
    c.sim.stop(run);
    c.sim.run_for(50s);
    BOOST_TEST(c.news["a"].lost.empty());
    BOOST_TEST(c.said["a"].back() ==
               "no heartbeat of run for 4000 ms: it is stopped or cut off, and is waited for 60000 "
               "ms (--run-timeout-ms)");
    c.sim.resume(run);
    c.sim.run_for(50s);
    BOOST_TEST(c.news["a"].lost.empty());
    BOOST_TEST(c.news["run"].lost.empty());
    c.sim.stop(run);
    c.sim.run_for(65s);
    c.sim.resume(run);
    c.sim.run_for(5s);
    BOOST_TEST(c.news["a"].lost == std::vector<std::string>{"run lost"},
               boost::test_tools::per_element());
    BOOST_TEST(c.news["run"].lost == std::vector<std::string>{"a refused"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_congested_peer_keeps_no_heartbeat_from_the_others) {
    simulator_options options;
    options.bounds.frames_soft = 16;
    simulated_cluster c{options};
    node_runtime& a = c.add("a");
    node_runtime& b = c.add("b", "sim:a");
    c.add("c", "sim:a");
    BOOST_TEST(c.joined("b"));
    BOOST_TEST(c.joined("c"));
    for (const duration slower : {1s, 2s, 3s, 4s}) { // acknowledgements of what b sends to a
        c.sim.network().set_faults(a.node(), b.node(), {.delay_min = slower, .delay_max = slower});
        c.sim.run_for(3s);
    }
    b.spawn<flooding_actor>("flood", actor_address{a.node(), well_known::inspector});
    c.sim.run_for(30s);
    for (const char* name : {"a", "b", "c"})
        BOOST_TEST(c.news[name].lost.empty(), name);
}

BOOST_AUTO_TEST_CASE(a_message_that_takes_longer_than_the_heartbeats_time_out_is_no_silence) {
    memory_pool pool{1 << 25};
    simulated_cluster c;
    node_runtime& a = c.add("a");
    node_runtime& b = c.add("b", "sim:a");
    BOOST_TEST(c.joined("b"));
    c.sim.network().set_faults({.bytes_per_second = 1e6});
    frame_builder<proto::Probe> large;
    large.attach(tensor::allocate(pool, data_type::uint8, {10000000}).value());
    b.send({a.node(), well_known::inspector}, std::move(large));
    c.sim.run_for(9s);
    BOOST_TEST(a.statistics().frames_rejected == 0u); // it is on its way
    c.sim.run_for(5s);
    BOOST_TEST(a.statistics().frames_rejected == 1u);
    BOOST_TEST(c.news["a"].lost.empty());
    BOOST_TEST(c.news["b"].lost.empty());
}

BOOST_AUTO_TEST_CASE(a_node_that_leaves_says_goodbye) {
    simulated_cluster c;
    c.add("a");
    node_runtime& b = c.add("b", "sim:a");
    BOOST_TEST(c.joined("b"));
    c.sim.run_for(1s);
    b.stop();
    c.sim.run_for(1s);
    BOOST_TEST(c.news["a"].lost == std::vector<std::string>{"b cancelled"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

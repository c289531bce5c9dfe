#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>

#include "actors/cluster/cluster_actor.hpp"
#include "actors/runtime/failure.hpp"
#include "actors/runtime/simulator.hpp"
#include "schemas/probe.capnp.h"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

// What a subscriber of the cluster actor was told.
struct news_log {
    std::vector<std::string> joined;
    std::vector<std::string> addresses; // of those who joined
    std::vector<std::string> lost;      // "NAME code"
    std::size_t lists = 0;
};

class subscriber_actor final : public actor {
  public:
    subscriber_actor(actor_context& context, news_log& log) : actor{context}, log_{log} {
        on<proto::MemberList>(&subscriber_actor::list);
        on<proto::NodeJoined>(&subscriber_actor::joined);
        on<proto::NodeLost>(&subscriber_actor::lost);
    }

  private:
    void on_start() override {
        send({self().node, well_known::cluster}, frame_builder<proto::Subscribe>{});
    }
    void list(proto::MemberList::Reader, const frame&) { ++log_.lists; }
    void joined(proto::NodeJoined::Reader news, const frame&) {
        log_.joined.push_back(news.getMember().getName());
        log_.addresses.push_back(news.getMember().getAddress());
    }
    void lost(proto::NodeLost::Reader news, const frame&) {
        log_.lost.push_back(std::string{news.getName().cStr()} + " " +
                            std::string{to_string(read_failure(news.getFailure()).code())});
    }
    news_log& log_;
};

// Asks the cluster actor of `to` to take `claimed` in, once there is a connection.
class impostor_actor final : public actor {
  public:
    impostor_actor(actor_context& context, std::vector<std::string>& refusals, node_id to,
                   member_info claimed)
        : actor{context}, refusals_{refusals}, to_{to}, claimed_{std::move(claimed)} {
        on<proto::PeerUp>(&impostor_actor::ask);
        on<proto::Refused>(&impostor_actor::refused);
    }

  private:
    void on_start() override { runtime().subscribe_peers(self()); }
    void ask(proto::PeerUp::Reader, const frame&) {
        frame_builder<proto::Join> request;
        write_member(request.body().initMember(), claimed_);
        send({to_, well_known::cluster}, std::move(request));
    }
    void refused(proto::Refused::Reader answer, const frame&) {
        refusals_.emplace_back(answer.getText().cStr());
    }
    void on_rejected(proto::Rejected::Reader answer, const frame&) override {
        refusals_.emplace_back(answer.getReason().cStr());
    }

    std::vector<std::string>& refusals_;
    node_id to_;
    member_info claimed_;
};

// Stands where a cluster actor would, and takes nobody in.
class doorkeeper_actor final : public actor {
  public:
    explicit doorkeeper_actor(actor_context& context) : actor{context} {
        on<proto::Join>(&doorkeeper_actor::refuse);
    }

  private:
    void refuse(proto::Join::Reader, const frame& f) {
        frame_builder<proto::Refused> answer;
        answer.body().setText("not you\x1b[2J");
        send(f.from(), std::move(answer));
    }
};

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

struct simulated_cluster {
    std::map<std::string, std::optional<result<void>>> outcome; // of joining
    std::map<std::string, news_log> news;
    std::map<std::string, std::vector<std::string>> said; // to people
    simulator sim;

    explicit simulated_cluster(simulator_options options = {}) : sim{std::move(options)} {}

    node_runtime& add(const std::string& name, const std::string& join = {}) {
        return sim.add_node(name, peer_role::member, [&](node_runtime& node) {
            node.spawn_as<cluster_actor>(
                well_known::cluster, "cluster",
                cluster_options{
                    .devices = {{"cpu:0", 1u << 20}},
                    .join = join,
                    .joined = [this, name](const result<void>& r) { outcome[name] = r; },
                    .log = [this, name](const std::string& s) { said[name].push_back(s); }});
            node.spawn<subscriber_actor>("subscriber", news[name]);
        });
    }
    bool joined(const std::string& name) {
        if (!sim.run_until([&] { return outcome[name].has_value(); }, 30s))
            return false;
        if (!outcome[name]->ok())
            BOOST_TEST_MESSAGE(outcome[name]->failure().message());
        return outcome[name]->ok();
    }
};

// Node a, the first, was asked by the second one to take in what that one claims to be.
struct claimed_member {
    std::vector<std::string> refusals; // outlives the actor
    simulated_cluster cluster;
    const news_log& news = cluster.news["a"];

    explicit claimed_member(member_info claimed) {
        const node_id a = cluster.add("a").node();
        node_runtime& second = cluster.sim.add_node("b");
        second.connect("sim:a");
        second.spawn<impostor_actor>("impostor", refusals, a, std::move(claimed));
        cluster.sim.run_for(1s);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_actors)

BOOST_AUTO_TEST_CASE(a_newcomer_is_known_to_everybody_wherever_it_joins) {
    simulated_cluster c;
    c.add("a");
    BOOST_TEST(c.joined("a")); // founds
    c.add("b", "sim:a");
    BOOST_TEST(c.joined("b"));
    c.add("c", "sim:b");
    BOOST_TEST(c.joined("c"));
    c.add("d", "sim:a");
    BOOST_TEST(c.joined("d"));
    c.sim.run_for(1s);
    const auto sorted = [](std::vector<std::string> v) { return std::sort(v.begin(), v.end()), v; };
    using names = std::vector<std::string>;
    BOOST_TEST(sorted(c.news["a"].joined) == (names{"b", "c", "d"}),
               boost::test_tools::per_element());
    BOOST_TEST(sorted(c.news["d"].joined) == (names{"a", "b", "c"}),
               boost::test_tools::per_element());
    BOOST_TEST(c.news["a"].lists == 1u);
}

BOOST_AUTO_TEST_CASE(nodes_that_join_at_the_same_time_find_each_other) {
    simulated_cluster c;
    c.add("a");
    for (const char* name : {"b", "c", "d", "e"})
        c.add(name, "sim:a");
    for (const char* name : {"b", "c", "d", "e"})
        BOOST_TEST(c.joined(name));
    c.sim.run_for(1s);
    for (const char* name : {"a", "b", "c", "d", "e"})
        BOOST_TEST(c.news[name].joined.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_cluster_forms_over_a_lossy_network) {
    simulator_options options;
    options.network.faults = {.delay_min = 1ms, .delay_max = 50ms, .drop = 0.2, .duplicate = 0.1};
    simulated_cluster c{options};
    c.add("a");
    c.add("b", "sim:a");
    c.add("c", "sim:a");
    BOOST_TEST(c.joined("b"));
    BOOST_TEST(c.joined("c"));
}

BOOST_AUTO_TEST_CASE(joining_where_nobody_listens_fails_with_the_address) {
    simulated_cluster c;
    c.add("a", "sim:nowhere");
    BOOST_TEST(!c.joined("a"));
    BOOST_REQUIRE(c.outcome["a"].has_value());
    BOOST_TEST(c.outcome["a"]->failure().message().find("sim:nowhere") != std::string::npos);
}

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

BOOST_AUTO_TEST_CASE(a_node_that_was_given_up_says_how_it_comes_back) {
    simulated_cluster c;
    c.add("a");
    node_runtime& b = c.add("b", "sim:a");
    c.add("c", "sim:a");
    BOOST_TEST(c.joined("b"));
    BOOST_TEST(c.joined("c"));
    c.sim.stop(b);
    c.sim.run_for(10s);
    c.sim.resume(b);
    c.sim.run_for(10s);
    BOOST_REQUIRE_EQUAL(c.news["b"].lost.size(), 2u);
    const std::string last = c.news["b"].lost.back().substr(0, 1); // "c lost"
    const std::string& sentence = c.said["b"].back();
    BOOST_TEST(sentence.starts_with("this node has lost all others"), sentence);
    BOOST_TEST(sentence.ends_with("start it anew with --join sim:" + last), sentence);
    BOOST_TEST(c.said["a"].back().starts_with("node b is lost"), c.said["a"].back());
    BOOST_TEST(c.said["c"].back().starts_with("node b is lost"), c.said["c"].back());
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

BOOST_AUTO_TEST_CASE(a_newcomer_with_a_name_in_use_is_refused_with_a_sentence) {
    claimed_member c{{.node = node_id{2}, .name = "a", .address = "sim:b"}};
    BOOST_REQUIRE_EQUAL(c.refusals.size(), 1u);
    BOOST_TEST(c.refusals[0].find("the name a is in use") != std::string::npos);
    BOOST_TEST(c.news.joined.empty());
}

BOOST_AUTO_TEST_CASE(a_join_in_the_name_of_another_node_is_rejected) {
    claimed_member c{{.node = node_id{77}, .name = "x", .address = "sim:x"}};
    BOOST_TEST(c.refusals == std::vector<std::string>{"a node joins in its own name"},
               boost::test_tools::per_element());
    BOOST_TEST(c.news.joined.empty());
}

BOOST_AUTO_TEST_CASE(a_member_is_known_by_the_address_at_which_the_transport_reaches_it) {
    claimed_member c{{.node = node_id{2}, .name = "b", .address = "0.0.0.0:4711"}};
    BOOST_TEST(c.news.addresses == std::vector<std::string>{"sim:b"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_newcomer_that_is_refused_says_so_and_does_not_join) {
    simulated_cluster c;
    c.sim.add_node("doorkeeper", peer_role::member, [](node_runtime& node) {
        node.spawn_as<doorkeeper_actor>(well_known::cluster, "doorkeeper");
    });
    c.add("b", "sim:doorkeeper");
    BOOST_TEST(!c.joined("b"));
    BOOST_REQUIRE(c.outcome["b"].has_value());
    BOOST_TEST((c.outcome["b"]->failure().code() == errc::refused));
    BOOST_TEST(c.outcome["b"]->failure().message() ==
               "cannot join the cluster at sim:doorkeeper: not you\\x1b[2J");
}

BOOST_AUTO_TEST_CASE(joining_what_never_welcomes_fails_in_time) {
    simulated_cluster c;
    c.sim.add_node("silent");
    c.add("b", "sim:silent");
    BOOST_TEST(!c.joined("b"));
    BOOST_REQUIRE(c.outcome["b"].has_value());
    BOOST_TEST((c.outcome["b"]->failure().code() == errc::unreachable));
}

BOOST_AUTO_TEST_SUITE_END()

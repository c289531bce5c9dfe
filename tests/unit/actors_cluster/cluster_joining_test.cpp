// Who becomes a member, and what those hear who do not.
#include "tests/unit/actors_cluster/simulated_cluster.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

namespace {

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

BOOST_AUTO_TEST_SUITE(cluster_joining)

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
    BOOST_TEST(c.said["a"].front() == "node b (sim:b) has joined, over the simulated network");
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

BOOST_AUTO_TEST_CASE(a_newcomer_is_told_of_members_that_it_cannot_reach_and_joins_the_others) {
    simulated_cluster c;
    const node_runtime& a = c.add("a");
    const node_runtime& b = c.add("b", "sim:a");
    BOOST_TEST_REQUIRE(c.joined("b"));
    node_runtime& d = c.add("d", "sim:a");
    c.sim.partition(b, d);
    BOOST_TEST_REQUIRE(c.joined("d"));
    BOOST_TEST_REQUIRE(c.unreached["d"].size() == 1u);
    BOOST_TEST(c.unreached["d"][0].name == "b");
    BOOST_TEST(c.unreached["d"][0].address == "sim:b");
    BOOST_TEST(!c.unreached["d"][0].why.empty());
    BOOST_TEST((c.news["d"].members == std::set{a.node(), d.node()}));
    c.sim.run_for(60s);
    const auto tells = [&](const char* name) {
        return std::ranges::count_if(c.said[name], [](const std::string& s) {
            return s.find("cannot be reached from here") != std::string::npos;
        });
    };
    BOOST_TEST(tells("d") == 0); // whoever started it has been told
}

BOOST_AUTO_TEST_CASE(joining_where_nobody_listens_fails_with_the_address) {
    simulated_cluster c;
    c.add("a", "sim:nowhere");
    BOOST_TEST(!c.joined("a"));
    BOOST_REQUIRE(c.outcome["a"].has_value());
    BOOST_TEST(c.outcome["a"]->failure().message().find("sim:nowhere") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(joining_what_never_welcomes_fails_in_time) {
    simulated_cluster c;
    c.sim.add_node("silent");
    c.add("b", "sim:silent");
    BOOST_TEST(!c.joined("b"));
    BOOST_REQUIRE(c.outcome["b"].has_value());
    BOOST_TEST((c.outcome["b"]->failure().code() == errc::unreachable));
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

BOOST_AUTO_TEST_CASE(a_join_in_another_role_than_the_transport_knows_is_rejected) {
    claimed_member c{
        {.node = node_id{2}, .name = "b", .address = "sim:b", .role = peer_role::client}};
    BOOST_TEST(c.refusals ==
                   std::vector<std::string>{"a node joins in the role that it has proven"},
               boost::test_tools::per_element());
    BOOST_TEST(c.news.joined.empty());
}

BOOST_AUTO_TEST_CASE(a_member_is_known_by_the_address_at_which_the_transport_reaches_it) {
    claimed_member c{{.node = node_id{2}, .name = "b", .address = "0.0.0.0:4711"}};
    BOOST_TEST(c.news.addresses == std::vector<std::string>{"sim:b"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

// The inspector attached to real nodes: two that pass a message to and fro, and an observer.
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <sstream>

#include "actors/cluster/cluster_actor.hpp"
#include "actors/runtime/inspector_agent.hpp"
#include "kernels/tensor/memory.hpp"
#include "tests/support/all_messages.hpp"
#include "tests/unit/actors_runtime/probe_actor.hpp"
#include "tools/inspector/inspect.hpp"
#include "transport/node/node_endpoint.hpp"

using namespace troupe;
using namespace troupe::inspector;
using namespace std::chrono_literals;

namespace {

const std::string cluster_key = "a key of sixteen bytes and more";

class real_node {
  public:
    real_node(const std::string& name, const std::string& join) {
        endpoint_options own;
        const node_id id = own.identity.node();
        own.self.name = name;
        own.self.address = "127.0.0.1:0";
        own.keys = std::make_shared<key_ring>(cluster_keys{cluster_key});
        own.links.pool = &pool_;
        own.links.time = &time_;
        network_ = make_node_endpoint(std::move(own)).value();
        node_ = std::make_unique<node_runtime>(node_options{.node = id,
                                                            .name = name,
                                                            .time = &time_,
                                                            .timers = &timers_,
                                                            .network = network_.get(),
                                                            .messages = test::all_messages(),
                                                            .threads = 1,
                                                            .trace_events = 4096});
        cluster_options cluster;
        cluster.join = join;
        cluster.joined = [this](const auto& r) { joined_.set_value(r.ok()); };
        node_->spawn_as<cluster_actor>(well_known::cluster, "cluster", std::move(cluster));
        node_->spawn_as<inspector_agent>(well_known::inspector, "inspector");
    }
    ~real_node() { node_->stop(); }

    bool start() { return node_->start().ok() && joined_.get_future().get(); }
    node_runtime& node() { return *node_; }
    std::string address() const { return node_->listen_address(); }

  private:
    monotonic_time time_;
    thread_timers timers_;
    memory_pool pool_{1u << 24};
    std::unique_ptr<endpoint> network_;
    std::unique_ptr<node_runtime> node_;
    std::promise<bool> joined_;
};

// Two players that send a probe to and fro.
void spawn_players(node_runtime& a, node_runtime& b, probe_log& log_a, probe_log& log_b) {
    const auto answer = [](probe_actor& self, proto::Probe::Reader body, const frame& f) {
        self.send(f.from(), probe(body.getNumber() + 1));
    };
    const actor_address there = b.spawn<probe_actor>("player b", log_b, answer);
    const auto serve = [there](probe_actor& self, proto::Probe::Reader body, const frame&) {
        self.send(there, probe(body.getNumber() + 1));
    };
    a.send(a.spawn<probe_actor>("player a", log_a, serve), probe(0));
}

struct two_real_nodes {
    two_real_nodes() : a{"a", ""} {
        BOOST_TEST_REQUIRE(a.start());
        b.emplace("b", a.address());
        BOOST_TEST_REQUIRE(b->start());
        spawn_players(a.node(), b->node(), log_a, log_b);
    }

    probe_log log_a, log_b;
    real_node a;
    std::optional<real_node> b;
};

struct outcome {
    int code = -1;
    std::string out;
    std::string talk;

    bool shows(const std::string& piece) const { return out.find(piece) != std::string::npos; }
};

outcome look(const std::string& address, const std::vector<std::string>& view,
             inspect_options options = {}) {
    options.address = address;
    if (!options.access.keys.has_key())
        options.access.keys = cluster_keys{cluster_key};
    BOOST_TEST_REQUIRE(parse_view(view, options).ok());
    std::ostringstream out;
    std::ostringstream talk;
    const int code = inspect(options, out, talk);
    BOOST_TEST_MESSAGE(out.str() << talk.str());
    return {code, out.str(), talk.str()};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(inspector_over_ucx, two_real_nodes)

BOOST_AUTO_TEST_CASE(actors_of_both_nodes_are_seen_from_either) {
    for (const std::string& address : {a.address(), b->address()}) {
        inspect_options options;
        options.interval = 200ms;
        const outcome seen = look(address, {}, options);
        BOOST_TEST(seen.code == 0);
        BOOST_TEST(seen.talk == "");
        BOOST_TEST(seen.shows("on 2 nodes"));
        BOOST_TEST(seen.shows("player a"));
        BOOST_TEST(seen.shows("player b"));
    }
}

BOOST_AUTO_TEST_CASE(a_tail_shows_what_passes_its_filter_and_ends_after_a_count) {
    inspect_options options;
    options.count = 500;
    const outcome seen =
        look(a.address(), {"tail", "type=Probe", "actor=player b", "hops=0"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(std::ranges::count(seen.out, '\n') == 500);
    BOOST_TEST(seen.shows("Probe  a/player a -> b/player b"));
    BOOST_TEST(!seen.shows("-> a/player a"));
}

BOOST_AUTO_TEST_CASE(a_condition_that_no_message_has_is_code_2) {
    BOOST_TEST(look(a.address(), {"tail", "type=Prob"}).code == 2);
    const outcome seen = look(a.address(), {"tail", "type=Probe", "nmber=1"});
    BOOST_TEST(seen.code == 2);
    BOOST_TEST(seen.talk.find("its fields are number, hops, note") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_exported_trace_keeps_the_rules_of_the_viewers) {
    inspect_options options;
    options.json = true;
    options.seconds = 300ms;
    const std::string file = "inspector_ucx_trace.json";
    const outcome seen = look(a.address(), {"export", file}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows(R"("arrows_backwards":0)"));
    BOOST_TEST(
        std::system(
            ("python3 " TROUPE_SOURCE_ROOT "/tests/interop/validate_trace.py " + file).c_str()) ==
        0);
    std::remove(file.c_str());
}

BOOST_AUTO_TEST_CASE(a_wrong_key_and_a_dead_address_are_code_3) {
    inspect_options wrong;
    wrong.access.keys = cluster_keys{"another key of sixteen bytes"};
    const outcome refused = look(a.address(), {}, wrong);
    BOOST_TEST(refused.code == 3);
    BOOST_TEST(std::ranges::count(refused.talk, '\n') == 1);
    const outcome nobody = look("127.0.0.1:1", {});
    BOOST_TEST(nobody.code == 3);
    BOOST_TEST(std::ranges::count(nobody.talk, '\n') == 1);
    BOOST_TEST(look("nonsense", {}).code != 0);
}

BOOST_AUTO_TEST_CASE(without_minibatches_there_is_nothing_to_follow) {
    BOOST_TEST(look(a.address(), {"follow", "minibatch=next"}).code == 1);
}

// What a watcher of both nodes has printed when `meanwhile` has passed, which begins after it has seen both.
template <class Meanwhile>
outcome watched(const real_node& a, const Meanwhile& meanwhile) {
    std::atomic<bool> stop{false};
    std::atomic<int> drawn{0}; // a table drawn in place asks for the size of its screen
    inspect_options options;
    options.watch = true;
    options.interval = 50ms;
    options.stop = [&] { return stop.load(); };
    options.screen = [&] {
        ++drawn;
        return screen_size{};
    };
    auto watching = std::async(std::launch::async, [&] { return look(a.address(), {}, options); });
    const auto await_table = [&](int number) {
        while (drawn < number && watching.wait_for(1ms) != std::future_status::ready)
            ;
    };
    await_table(2);
    meanwhile();
    await_table(drawn + 3);
    stop = true;
    return watching.get();
}

BOOST_AUTO_TEST_CASE(a_node_that_stops_while_it_is_watched_is_noted) {
    const outcome seen = watched(a, [&] { b.reset(); });
    BOOST_TEST_INFO(seen.talk);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.talk.find("node b has stopped") != std::string::npos);
}

// A node stops its actors before it closes its connections.
BOOST_AUTO_TEST_CASE(a_node_whose_inspector_has_ended_is_waited_for) {
    const outcome seen = watched(a, [&] {
        const actor_address inspector{b->node().node(), well_known::inspector};
        BOOST_TEST(b->node().end(inspector, {errc::cancelled, "the node stops"}));
        std::this_thread::sleep_for(300ms); // the watcher asks it
        b.reset();
    });
    BOOST_TEST_INFO(seen.talk);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.talk.find("node b has stopped") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

#include "actors/runtime/lost_nodes.hpp"
#include "actors/runtime/message_types.hpp"
#include "actors/runtime/node_core.hpp"
#include "actors/runtime/simulator.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/params.capnp.h"
#include "schemas/peers.capnp.h"
#include "schemas/scheduled.capnp.h"
#include "schemas/training.capnp.h"
#include "tests/support/all_messages.hpp"
#include "tests/unit/actors_runtime/probe_actor.hpp"

using namespace troupe;
using troupe::test::all_messages;
using namespace std::chrono_literals;

namespace {

struct two_nodes {
    probe_log log, other; // outlive the actors
    simulator sim;
    node_runtime& a = sim.add_node("a");
    node_runtime& b = sim.add_node("b");

    explicit two_nodes(const simulator_options& options = {.messages = all_messages()})
        : sim{options} {
        a.connect("sim:b");
        BOOST_REQUIRE(
            sim.run_until([&] { return a.peers().size() == 1 && b.peers().size() == 1; }, 10s));
    }
    void settle() { sim.run_for(1s); }
    // On node a, by an actor that notes in `by` what it is told.
    void watch(actor_address who, probe_log& by) {
        const auto watcher = a.spawn<probe_actor>(
            "watcher", by, [who](probe_actor& self, auto, auto&) { self.watch(who); });
        a.send(watcher, probe(0));
        settle();
    }
};

// What only a node's own parts tell its actors.
template <class Act>
void for_each_node_local(Act act) {
    act.template operator()<proto::CommitDue>();
    act.template operator()<proto::Common>();
    act.template operator()<proto::ConnectFailed>();
    act.template operator()<proto::EnterEpoch>();
    act.template operator()<proto::EpochFinished>();
    act.template operator()<proto::Exchange>();
    act.template operator()<proto::Exchanged>();
    act.template operator()<proto::Fetched>();
    act.template operator()<proto::FinishEpoch>();
    act.template operator()<proto::GradientsReady>();
    act.template operator()<proto::HeartbeatDue>();
    act.template operator()<proto::JoinPeers>();
    act.template operator()<proto::JoinReduction>();
    act.template operator()<proto::JoinServer>();
    act.template operator()<proto::KeepShard>();
    act.template operator()<proto::Listening>();
    act.template operator()<proto::LostPairsDue>();
    act.template operator()<proto::Offer>();
    act.template operator()<proto::PeerDown>();
    act.template operator()<proto::PeerUp>();
    act.template operator()<proto::QuestionDue>();
    act.template operator()<proto::ReadCommon>();
    act.template operator()<proto::Reduce>();
    act.template operator()<proto::Reduced>();
    act.template operator()<proto::Refresh>();
    act.template operator()<proto::SaveAgain>();
    act.template operator()<proto::ServerJoined>();
    act.template operator()<proto::StopRun>();
    act.template operator()<proto::TimeIsUp>();
    act.template operator()<proto::TurnCame>();
    act.template operator()<proto::WorkDone>();
    act.template operator()<proto::WriteEnd>();
}

// Takes all of it, and believes it.
class trusting_actor final : public actor {
  public:
    trusting_actor(actor_context& context, std::size_t& taken) : actor{context}, taken_{taken} {
        for_each_node_local([&]<class Body>() { on<Body>(&trusting_actor::take<Body>); });
    }

  private:
    template <class Body>
    void take(typename Body::Reader, const frame&) {
        ++taken_;
    }
    std::size_t& taken_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(remote_actors)

BOOST_FIXTURE_TEST_CASE(what_never_leaves_a_node_is_refused_from_a_peer_and_counted, two_nodes) {
    std::size_t taken = 0;
    const auto target = b.spawn<trusting_actor>("target", taken);
    const auto forge = [&](probe_actor& self, auto, const frame&) {
        for_each_node_local([&]<class Body>() { self.send(target, frame_builder<Body>{}); });
    };
    const auto stranger = a.spawn<probe_actor>("stranger", log, forge);
    a.send(stranger, probe(0));
    settle();
    BOOST_TEST(taken == 0u);
    BOOST_TEST(b.statistics().frames_rejected == 32u);
    BOOST_REQUIRE_EQUAL(log.rejected.size(), 32u);
    BOOST_TEST(log.rejected[0] == "CommitDue never leaves its node");

    const auto neighbour = b.spawn<probe_actor>("neighbour", other, forge);
    b.send(neighbour, probe(0));
    settle();
    BOOST_TEST(taken == 32u);
}

BOOST_AUTO_TEST_CASE(exactly_what_the_schemas_mark_is_node_local) {
    std::vector<std::string> marked, expected;
    for (const message_type& type : all_messages()->all())
        if (type.node_local)
            marked.push_back(type.name);
    std::sort(marked.begin(), marked.end());
    for_each_node_local(
        [&]<class Body>() { expected.push_back(all_messages()->find(type_id_of<Body>())->name); });
    BOOST_TEST(marked == expected, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_end_of_a_remote_actor_frees_its_proxy_and_is_told_to_all, two_nodes) {
    const auto worker = b.spawn<probe_actor>("worker", other, [](probe_actor& self, auto, auto&) {
        self.quit(error{errc::numeric, "loss is not a number"});
    });
    probe_log second_log;
    watch(worker, log);
    watch(worker, second_log);
    BOOST_TEST(static_cast<bool>(core_of(a).peers().proxy_of(worker)));
    b.send(worker, probe(0));
    settle();
    BOOST_TEST(!core_of(a).peers().proxy_of(worker));
    for (const probe_log& told : {log, second_log}) {
        BOOST_REQUIRE_EQUAL(told.downs.size(), 1u);
        BOOST_TEST(told.downs[0].find("numeric: loss is not a number") != std::string::npos);
    }
    sim.kill(b); // nothing more is told of it
    settle();
    BOOST_TEST(log.downs.size() == 1u);
    BOOST_TEST(second_log.downs.size() == 1u);
    a.stop(); // the log goes before the nodes
}

BOOST_FIXTURE_TEST_CASE(an_unwatch_of_what_was_never_addressed_makes_no_proxy, two_nodes) {
    const auto worker = b.spawn<probe_actor>("worker", other);
    core_of(a).unwatch({a.node(), actor_number{16}}, worker);
    BOOST_TEST(!core_of(a).peers().proxy_of(worker));
}

BOOST_FIXTURE_TEST_CASE(a_message_goes_to_another_node_and_its_answer_comes_back, two_nodes) {
    const auto echo =
        b.spawn<probe_actor>("echo", other, [](probe_actor& self, auto body, const frame& f) {
            self.send(f.from(), probe(body.getNumber() + 1));
        });
    const auto asker =
        a.spawn<probe_actor>("asker", log, [&](probe_actor& self, auto body, const frame&) {
            if (body.getNumber() == 0)
                self.send(echo, probe(10));
        });
    a.send(asker, probe(0));
    settle();
    BOOST_TEST(log.numbers == (std::vector<std::uint64_t>{0, 11}),
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(messages_to_a_remote_actor_keep_their_order, two_nodes) {
    sim.network().set_faults({.delay_min = 1ms, .delay_max = 20ms, .drop = 0.1, .duplicate = 0.1});
    const auto receiver = b.spawn<probe_actor>("receiver", log);
    const auto sender =
        a.spawn<probe_actor>("sender", other, [&](probe_actor& self, auto, const frame&) {
            for (std::uint64_t i = 0; i < 300; ++i)
                self.send(receiver, probe(i));
        });
    a.send(sender, probe(0));
    BOOST_REQUIRE(sim.run_until([&] { return log.numbers.size() == 300; }, 60s));
    std::vector<std::uint64_t> expected(300);
    std::iota(expected.begin(), expected.end(), 0);
    BOOST_TEST(log.numbers == expected, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_message_to_nobody_on_another_node_is_answered_by_rejected, two_nodes) {
    const auto sender =
        a.spawn<probe_actor>("sender", log, [&](probe_actor& self, auto, const frame&) {
            self.send({b.node(), actor_number{4711}}, probe(1));
        });
    a.send(sender, probe(0));
    settle();
    BOOST_TEST(log.rejected.size() == 1u);
    BOOST_TEST(b.statistics().frames_rejected == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_message_to_a_node_that_is_no_peer_is_counted_as_lost, two_nodes) {
    const auto sender =
        a.spawn<probe_actor>("sender", log, [&](probe_actor& self, auto, const frame&) {
            self.send({node_id{99}, actor_number{16}}, probe(1));
        });
    a.send(sender, probe(0));
    settle();
    BOOST_TEST(a.statistics().frames_lost == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_end_of_a_remote_actor_is_told_once_after_its_last_message, two_nodes) {
    actor_address watcher;
    const auto worker =
        b.spawn<probe_actor>("worker", other, [&](probe_actor& self, auto, const frame&) {
            self.send(watcher, probe(5));
            self.quit(error{errc::numeric, "loss is not a number"});
        });
    std::size_t numbers_when_down = 0;
    watcher = a.spawn<probe_actor>("watcher", log, [&](probe_actor& self, auto body, const frame&) {
        if (body.getNumber() == 0) {
            self.watch(worker);
            self.watch(worker); // watching twice is watching once
        } else {
            numbers_when_down = log.downs.size();
        }
    });
    a.send(watcher, probe(0));
    settle();
    BOOST_TEST(log.downs.empty());
    b.send(worker, probe(1));
    settle();
    BOOST_TEST(log.numbers == (std::vector<std::uint64_t>{0, 5}), boost::test_tools::per_element());
    BOOST_REQUIRE_EQUAL(log.downs.size(), 1u);
    BOOST_TEST(log.downs[0] ==
               "2/" + std::to_string(worker.actor.value()) + " numeric: loss is not a number");
    BOOST_TEST(numbers_when_down == 0u);
}

BOOST_FIXTURE_TEST_CASE(who_watches_after_a_node_was_lost_hears_the_same_as_who_watched_before,
                        two_nodes) {
    const auto worker = b.spawn<probe_actor>("worker", other);
    probe_log late;
    watch(worker, log);
    sim.kill(b);
    settle();
    watch(worker, late);
    BOOST_REQUIRE_EQUAL(log.downs.size(), 1u);
    BOOST_TEST(log.downs[0].find("lost: node b is lost: ") != std::string::npos, log.downs[0]);
    BOOST_TEST(late.downs == log.downs, boost::test_tools::per_element());
    a.stop(); // the log goes before the nodes
}

BOOST_FIXTURE_TEST_CASE(watching_what_does_not_exist_is_told_at_once, two_nodes) {
    const auto watcher =
        a.spawn<probe_actor>("watcher", log, [&](probe_actor& self, auto, const frame&) {
            self.watch({a.node(), actor_number{4711}});
            self.watch({b.node(), actor_number{4711}});
            self.watch({node_id{99}, actor_number{16}});
        });
    a.send(watcher, probe(0));
    settle();
    BOOST_TEST(log.downs.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(an_unwatched_actor_ends_without_a_word, two_nodes) {
    const auto remote = b.spawn<probe_actor>(
        "remote", other, [](probe_actor& self, auto, const frame&) { self.quit(); });
    const auto local = a.spawn<probe_actor>(
        "local", other, [](probe_actor& self, auto, const frame&) { self.quit(); });
    const auto watcher =
        a.spawn<probe_actor>("watcher", log, [&](probe_actor& self, auto body, const frame&) {
            for (const auto who : {remote, local})
                body.getNumber() == 0 ? self.watch(who) : self.unwatch(who);
        });
    a.send(watcher, probe(0));
    settle();
    a.send(watcher, probe(1));
    settle();
    b.send(remote, probe(0));
    a.send(local, probe(0));
    settle();
    BOOST_TEST(!a.address_of("local").has_value());
    BOOST_TEST(!b.address_of("remote").has_value());
    BOOST_TEST(log.downs.empty());
}

BOOST_FIXTURE_TEST_CASE(the_loss_of_a_node_is_told_to_everybody_who_watches_its_actors, two_nodes) {
    const auto worker = b.spawn<probe_actor>("worker", other);
    probe_log& second_log = other;
    watch(worker, log);
    watch(worker, second_log);
    sim.kill(b);
    settle();
    BOOST_REQUIRE_EQUAL(log.downs.size(), 1u);
    BOOST_TEST(log.downs[0].find("lost: node b is lost") != std::string::npos);
    BOOST_TEST(second_log.downs.size() == 1u);
    BOOST_TEST(a.peers().empty());
}

// An actor that fails, stops or was never there says nothing of its node, and one of a node's own never does.
BOOST_FIXTURE_TEST_CASE(only_what_ends_with_its_node_is_lost_with_it, two_nodes) {
    const actor_address there{b.node(), actor_number{99}}, here{a.node(), actor_number{99}};
    const error gone{errc::lost, "gone"}, failed{errc::numeric, "failed"},
        stopped{errc::cancelled, "stopped"};
    for (const error& why : {gone, failed, stopped}) {
        BOOST_TEST(!is_lost_with_node(a, there, why));
        BOOST_TEST(!is_lost_with_node(a, here, why));
    }
    sim.kill(b);
    settle();
    a.send(there, probe(0)); // notices it
    settle();
    BOOST_TEST(a.peers().empty());
    BOOST_TEST(is_lost_with_node(a, there, gone));
    BOOST_TEST(is_lost_with_node(a, there, error{errc::refused, "node b: it gave up"}));
    BOOST_TEST(!is_lost_with_node(a, there, failed)); // as it said before
    BOOST_TEST(!is_lost_with_node(a, there, stopped));
    BOOST_TEST(!is_lost_with_node(a, here, gone));
}

BOOST_FIXTURE_TEST_CASE(a_node_that_stops_in_order_ends_its_actors_and_its_connections, two_nodes) {
    const auto worker = b.spawn<probe_actor>("worker", other);
    watch(worker, log);
    b.stop();
    settle();
    BOOST_TEST(other.ended);
    BOOST_TEST(log.downs.size() == 1u);
    BOOST_TEST(a.peers().empty());
}

BOOST_FIXTURE_TEST_CASE(a_message_that_is_too_large_is_refused_to_its_sender_and_costs_no_peer,
                        two_nodes) {
    const auto target = b.spawn<probe_actor>("target", other);
    const auto sender = a.spawn<probe_actor>("sender", log, [&](probe_actor& self, auto, auto&) {
        auto large = probe(1);
        for (std::size_t i = 0; i <= limits::frame_tensors_max; ++i)
            large.attach({});
        self.send(target, std::move(large));
        self.send(target, probe(2));
    });
    a.send(sender, probe(0));
    settle();
    BOOST_REQUIRE_EQUAL(log.rejected.size(), 1u);
    BOOST_TEST(log.rejected[0].find("4097 tensors") != std::string::npos);
    BOOST_TEST((log.rejected_by[0] == target)); // as if it had refused it itself
    BOOST_TEST(a.statistics().frames_rejected == 1u);
    BOOST_TEST(other.numbers == std::vector<std::uint64_t>{2}, boost::test_tools::per_element());
    BOOST_TEST(a.peers().size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_actor_rests_while_a_peer_that_it_sends_to_is_congested) {
    simulator_options options{.messages = all_messages()};
    options.bounds.frames_soft = 8;
    options.network.faults = {.delay_min = 5ms, .delay_max = 5ms};
    two_nodes n{options};
    const auto receiver = n.b.spawn<probe_actor>("receiver", n.other);
    const auto sender =
        n.a.spawn<probe_actor>("sender", n.log, [&](probe_actor& self, auto body, const frame&) {
            self.send(receiver, probe(body.getNumber()));
        });
    for (std::uint64_t i = 0; i < 100; ++i)
        n.a.send(sender, probe(i));
    n.sim.run_for(1ms);
    BOOST_TEST(n.log.numbers.size() < 20u); // the rest waits in its mailbox, not in the network
    BOOST_REQUIRE(n.sim.run_until([&] { return n.other.numbers.size() == 100; }, 60s));
}

BOOST_AUTO_TEST_SUITE_END()

// Members that send heartbeats and answer nothing.
#include "actors/run/patience.hpp"

#include <boost/test/unit_test.hpp>

#include "actors/agent/node_agent.hpp"
#include "actors/cluster/cluster_actor.hpp"
#include "actors/run/run_messages.hpp"
#include "actors/runtime/simulator.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

const node_id a{1}, b{2};
using nodes = std::vector<node_id>;

// Stands where an agent would, and answers nothing.
class silent_actor final : public actor {
  public:
    explicit silent_actor(actor_context& context) : actor{context} {
        on<proto::AreYouThere>(&silent_actor::ignore);
    }

  private:
    void ignore(proto::AreYouThere::Reader, const frame&) {}
};

// A run's process and a member, whose agent answers or not.
struct waiting_run {
    std::vector<std::string> notes;
    simulator sim{{.messages = catalog_of(run_messages{})}};
    node_runtime* run = nullptr;

    waiting_run(bool answers, duration patience) {
        add("member", "", peer_role::member, [&](node_runtime& node) {
            if (answers)
                node.spawn_as<node_agent>(well_known::agent, "agent", node_agent_options{});
            else
                node.spawn_as<silent_actor>(well_known::agent, "agent");
        });
        run = &add("run", "sim:member", peer_role::client, [&](node_runtime& node) {
            node.spawn<patience_actor>(
                "patience", patience_options{.times = {.give_up = patience},
                                             .note = [this](const std::string& sentence) {
                                                 notes.push_back(sentence);
                                             }});
        });
    }

    template <class More>
    node_runtime& add(const std::string& name, const std::string& join, peer_role role, More more) {
        return sim.add_node(name, role, [&](node_runtime& node) {
            node.spawn_as<cluster_actor>(well_known::cluster, "cluster",
                                         cluster_options{.role = role, .join = join});
            more(node);
        });
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(patience)

BOOST_AUTO_TEST_CASE(who_answers_nothing_is_told_of_once_and_given_up_later) {
    answer_ages ages{{.interval = 2s, .tell = 10s, .give_up = 60s}};
    time_point now{};
    ages.expect(a, now);
    ages.expect(b, now);
    std::vector<std::int64_t> told, given_up;
    for (int second = 2; second <= 80; second += 2) {
        now = time_point{} + second * 1s;
        ages.answered(b, now);
        const auto late = ages.tick(now);
        if (!late.told.empty())
            told.push_back(second);
        if (!late.given_up.empty())
            given_up.push_back(second);
        for (const node_id node : late.told)
            BOOST_TEST((node == a));
    }
    BOOST_TEST(told == std::vector<std::int64_t>{12}, boost::test_tools::per_element());
    BOOST_TEST(given_up == std::vector<std::int64_t>{62}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_answer_makes_a_member_young_again) {
    answer_ages ages{{.interval = 2s, .tell = 4s, .give_up = 60s}};
    ages.expect(a, {});
    (void)ages.tick(time_point{} + 2s);
    (void)ages.tick(time_point{} + 4s);
    BOOST_TEST((ages.tick(time_point{} + 6s).told == nodes{a}));
    ages.answered(a, time_point{} + 7s);
    (void)ages.tick(time_point{} + 8s);
    (void)ages.tick(time_point{} + 10s);
    BOOST_TEST((ages.tick(time_point{} + 12s).told == nodes{a}));
    ages.forget(a);
    BOOST_TEST(ages.tick(time_point{} + 14s).told.empty());
}

BOOST_AUTO_TEST_CASE(a_process_that_was_stopped_itself_blames_nobody) {
    answer_ages ages{{.interval = 2s, .tell = 10s, .give_up = 60s}};
    ages.expect(a, {});
    (void)ages.tick(time_point{} + 2s);
    const auto late = ages.tick(time_point{} + 600s);
    BOOST_TEST(late.told.empty());
    BOOST_TEST(late.given_up.empty());
    BOOST_TEST(ages.tick(time_point{} + 602s).given_up.empty());
}

BOOST_AUTO_TEST_CASE(a_member_whose_heartbeats_come_is_lost_once_patience_is_over) {
    waiting_run w{false, 60s};
    w.sim.run_for(9s);
    BOOST_TEST(w.notes.empty());
    w.sim.run_for(5s);
    BOOST_TEST(w.notes ==
                   std::vector<std::string>{
                       "node member sends heartbeats, but has answered nothing for 10 s: "
                       "large messages are under way, or it hangs; it is waited for 60 s"},
               boost::test_tools::per_element());
    BOOST_TEST(w.run->peers().size() == 1u);
    w.sim.run_for(50s);
    BOOST_TEST(w.run->peers().empty());
    BOOST_TEST(w.notes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(without_a_patience_it_is_told_of_and_stays) {
    waiting_run w{false, {}};
    w.sim.run_for(600s);
    BOOST_TEST_REQUIRE(w.notes.size() == 1u);
    BOOST_TEST(w.notes[0].ends_with("give it up after a time by --patience SECONDS"));
    BOOST_TEST(w.run->peers().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_patience_as_short_as_the_time_until_it_is_told_tells_first) {
    waiting_run w{false, 10s};
    w.sim.run_for(20s);
    BOOST_TEST(w.notes.size() == 1u);
    BOOST_TEST(w.run->peers().empty());
}

BOOST_AUTO_TEST_CASE(a_member_that_answers_stays) {
    waiting_run w{true, 60s};
    w.sim.run_for(300s);
    BOOST_TEST(w.notes.empty());
    BOOST_TEST(w.run->peers().size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

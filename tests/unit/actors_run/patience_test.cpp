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

std::uint64_t nothing_moved(node_id) {
    return 0;
}

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
    memory_pool pool{64u << 20}; // of what the nodes send each other
    std::vector<std::string> notes;
    std::vector<std::string> log; // of the run's cluster actor
    simulator sim;
    node_runtime* member = nullptr;
    node_runtime* run = nullptr;

    explicit waiting_run(bool answers, patience_times times = {}, sim_faults faults = {})
        : sim{{.network = {.faults = faults}, .messages = catalog_of(run_messages{})}} {
        member = &add("member", "", peer_role::member, [&](node_runtime& node) {
            if (answers)
                node.spawn_as<node_agent>(well_known::agent, "agent", node_agent_options{});
            else
                node.spawn_as<silent_actor>(well_known::agent, "agent");
        });
        run = &add("run", "sim:member", peer_role::client, [&](node_runtime& node) {
            node.spawn<patience_actor>(
                "patience",
                patience_options{.times = times, .note = [this](const std::string& sentence) {
                                     notes.push_back(sentence);
                                 }});
        });
    }

    // A message of so many bytes, which nobody takes: it arrives, and is refused.
    void send_large(node_runtime& from, const node_runtime& to, std::size_t bytes) {
        frame_builder<proto::Rejected> large;
        large.attach(tensor::allocate(pool, data_type::uint8, {bytes}).value());
        from.send({to.node(), actor_number{1000}}, std::move(large));
    }

    template <class More>
    node_runtime& add(const std::string& name, const std::string& join, peer_role role, More more) {
        return sim.add_node(name, role, [&](node_runtime& node) {
            node.spawn_as<cluster_actor>(well_known::cluster, "cluster",
                                         cluster_options{.role = role,
                                                         .join = join,
                                                         .log = [&, role](const std::string& said) {
                                                             if (role == peer_role::client)
                                                                 log.push_back(said);
                                                         }});
            more(node);
        });
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(patience)

BOOST_AUTO_TEST_CASE(who_answers_nothing_is_told_of_once_and_given_up_later) {
    answer_ages ages{{.interval = 2s, .tell = 10s, .give_up = 60s}};
    time_point now{};
    ages.expect(a);
    ages.expect(b);
    std::vector<std::int64_t> told, given_up;
    for (int second = 2; second <= 80; second += 2) {
        now = time_point{} + second * 1s;
        ages.answered(b);
        const auto late = ages.tick(now, nothing_moved);
        if (!late.told.empty())
            told.push_back(second);
        if (!late.given_up.empty())
            given_up.push_back(second);
        for (const node_id node : late.told)
            BOOST_TEST((node == a));
    }
    BOOST_TEST(told == std::vector<std::int64_t>{14}, boost::test_tools::per_element());
    BOOST_TEST(given_up == std::vector<std::int64_t>{64}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_answer_makes_a_member_young_again) {
    answer_ages ages{{.interval = 2s, .tell = 4s, .give_up = 60s}};
    const auto told_at = [&](std::int64_t second) {
        return ages.tick(time_point{} + second * 1s, nothing_moved).told == nodes{a};
    };
    ages.expect(a);
    BOOST_TEST((!told_at(2) && !told_at(4) && !told_at(6) && told_at(8)));
    ages.answered(a);
    BOOST_TEST((!told_at(10) && !told_at(12) && !told_at(14) && told_at(16)));
    ages.forget(a);
    BOOST_TEST(!told_at(18));
}

BOOST_AUTO_TEST_CASE(who_owes_an_answer_is_not_asked_again) {
    answer_ages ages{{.interval = 2s, .tell = 10s, .give_up = 60s}};
    const auto is_asked_at = [&](std::int64_t second) {
        return ages.tick(time_point{} + second * 1s, nothing_moved).due == nodes{a};
    };
    ages.expect(a);
    BOOST_TEST((is_asked_at(2) && !is_asked_at(4) && !is_asked_at(6)));
    ages.answered(a);
    BOOST_TEST((is_asked_at(8) && !is_asked_at(10)));
    BOOST_TEST(is_asked_at(600)); // this process was stopped meanwhile
}

BOOST_AUTO_TEST_CASE(a_process_that_was_stopped_itself_blames_nobody) {
    answer_ages ages{{.interval = 2s, .tell = 10s, .give_up = 60s}};
    ages.expect(a);
    (void)ages.tick(time_point{} + 2s, nothing_moved);
    const auto late = ages.tick(time_point{} + 600s, nothing_moved);
    BOOST_TEST(late.told.empty());
    BOOST_TEST(late.given_up.empty());
    BOOST_TEST(ages.tick(time_point{} + 602s, nothing_moved).given_up.empty());
}

BOOST_AUTO_TEST_CASE(a_member_does_not_age_while_its_link_moves_more_than_heartbeats) {
    for (const std::uint64_t per_interval : {moving_bytes - 1, moving_bytes}) {
        answer_ages ages{{.interval = 2s, .tell = 10s, .give_up = 60s}};
        std::uint64_t moved = 0;
        const auto moved_so_far = [&](node_id) { return moved; };
        ages.expect(a);
        (void)ages.tick(time_point{} + 2s, moved_so_far);
        (void)ages.tick(time_point{} + 4s, moved_so_far);
        std::int64_t gone = 0;
        for (int second = 6; second <= 200 && gone == 0; second += 2) {
            moved += second <= 100 ? per_interval : 0;
            const auto late = ages.tick(time_point{} + second * 1s, moved_so_far);
            gone = late.given_up.empty() ? 0 : second;
        }
        BOOST_TEST(gone == (per_interval < moving_bytes ? 64 : 160)); // the age of 2 s goes on
    }
}

BOOST_AUTO_TEST_CASE(a_member_whose_heartbeats_come_is_lost_once_patience_is_over) {
    waiting_run w{false};
    w.sim.run_for(9s);
    BOOST_TEST(w.notes.empty());
    w.sim.run_for(7s);
    BOOST_TEST(w.notes == std::vector<std::string>{"node member sends heartbeats over an idle "
                                                   "link, but has answered nothing for 10 s: it "
                                                   "hangs, and is given up after 60 s "
                                                   "(--patience)"},
               boost::test_tools::per_element());
    BOOST_TEST(w.run->peers().size() == 1u);
    w.sim.run_for(50s);
    BOOST_TEST(w.run->peers().empty());
    BOOST_TEST(w.notes.size() == 1u);
    const std::string lost = "is lost: no answer for 60 s, though heartbeats come over an idle "
                             "link (--patience)";
    BOOST_TEST(w.log == std::vector<std::string>{"node member " + lost},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_a_patience_it_is_told_of_and_stays) {
    waiting_run w{false, {.give_up = {}}};
    w.sim.run_for(600s);
    BOOST_TEST_REQUIRE(w.notes.size() == 1u);
    BOOST_TEST(w.notes[0].ends_with("it hangs, and is waited for, as --patience 0 says"));
    BOOST_TEST(w.run->peers().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_member_given_up_before_it_would_be_told_of_is_lost_in_one_sentence) {
    waiting_run w{false, {.give_up = 10s}};
    w.sim.run_for(20s);
    BOOST_TEST(w.notes.empty());
    BOOST_TEST(w.run->peers().empty());
}

// The member's agent is there and would answer, but question and answer wait behind a message for five minutes.
BOOST_AUTO_TEST_CASE(a_message_of_minutes_over_a_slow_link_loses_nobody_in_either_direction) {
    constexpr std::size_t large = 30u << 20;
    for (const bool to_member : {true, false}) {
        waiting_run w{true, {}, {.bytes_per_second = large / 300.0}};
        w.sim.run_for(5s);
        BOOST_TEST_REQUIRE(w.run->peers().size() == 1u);
        if (to_member)
            w.send_large(*w.run, *w.member, large);
        else
            w.send_large(*w.member, *w.run, large);
        w.sim.run_for(290s);
        BOOST_TEST(w.member->statistics().frames_rejected + w.run->statistics().frames_rejected ==
                   0u); // it is on its way still
        w.sim.run_for(60s);
        BOOST_TEST(w.notes.empty());
        BOOST_TEST(w.run->peers().size() == 1u);
        BOOST_TEST(w.member->peers().size() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(an_agent_that_hangs_is_given_up_once_its_slow_link_is_idle) {
    constexpr std::size_t large = 12u << 20;
    waiting_run w{false, {}, {.bytes_per_second = large / 120.0}};
    w.sim.run_for(5s);
    w.send_large(*w.run, *w.member, large);
    w.sim.run_for(120s);
    BOOST_TEST(w.notes.empty());
    BOOST_TEST(w.run->peers().size() == 1u);
    w.sim.run_for(65s);
    BOOST_TEST(w.notes.size() == 1u);
    BOOST_TEST(w.run->peers().empty());
}

BOOST_AUTO_TEST_CASE(a_member_that_answers_stays_whatever_the_patience) {
    for (const duration give_up : {duration{1s}, duration{2s}, duration{60s}}) {
        waiting_run w{true, {.give_up = give_up}};
        w.sim.run_for(300s);
        BOOST_TEST(w.notes.empty());
        BOOST_TEST(w.run->peers().size() == 1u);
    }
}

BOOST_AUTO_TEST_SUITE_END()

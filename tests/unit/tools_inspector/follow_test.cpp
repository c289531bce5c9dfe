// What follow shows, and what it says while it waits.
#include <boost/test/unit_test.hpp>

#include <atomic>

#include "tests/unit/tools_inspector/look.hpp"

using namespace troupe;
using namespace troupe::inspector;

BOOST_AUTO_TEST_SUITE(inspector_follow)

BOOST_AUTO_TEST_CASE(a_minibatch_is_followed_over_all_nodes) {
    two_nodes cluster{3};
    const outcome seen = look(cluster, {"follow", "minibatch=1"});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.talk == "");
    BOOST_TEST(seen.shows("minibatch 1: 2 stages, "));
    BOOST_TEST(seen.shows(
        "a/stage-0: forward with version 1, backward with 1 (equal); update of 1 made 2, lag 0"));
    BOOST_TEST(seen.shows("b/stage-1: forward with version 2, backward with 2 (equal)"));
}

BOOST_AUTO_TEST_CASE(the_next_minibatch_is_the_first_to_come) {
    two_nodes cluster{3};
    int reads = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() != type_id_of<proto::ReadTrace>() || ++reads != 2)
            return;
        cluster.trace.run(3, 3);
        for (const node_trace& t : cluster.trace.traces)
            cluster.at(t.node.value()).events = t.events;
    };
    const outcome seen = look(cluster, {"follow", "minibatch=next"}, json());
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows(R"({"event":"path","minibatch":3,"complete":true)"));
    BOOST_TEST(seen.shows(
        R"("equal":true,"updated_version":3,"produced_version":4,"fetched_version":null,"lag":0)"));
}

BOOST_AUTO_TEST_CASE(a_minibatch_that_has_gone_by_is_code_1_and_says_what_there_is) {
    two_nodes cluster{100};
    for (const std::uint64_t node : {1u, 2u})
        std::erase_if(cluster.at(node).events, [](const trace_event& e) {
            return e.work.value() < 10 || e.work.value() == none;
        });
    const outcome seen = look(cluster, {"follow", "minibatch=5"});
    BOOST_TEST(seen.code == 1);
    BOOST_TEST(seen.talk == "troupe inspect: minibatch 5 has passed and is no longer remembered; "
                            "the nodes remember 10 to 99\n");
}

BOOST_AUTO_TEST_CASE(a_minibatch_of_which_only_the_last_answer_is_left_has_gone_by) {
    two_nodes cluster{100};
    for (const std::uint64_t node : {1u, 2u})
        std::erase_if(cluster.at(node).events, [](const trace_event& e) {
            return e.work.value() == 5 &&
                   (e.kind == trace_kind::compute || e.to_actor.value() != pipeline_trace::source);
        });
    const outcome seen = look(cluster, {"follow", "minibatch=5"});
    BOOST_TEST(seen.code == 1);
    BOOST_TEST(seen.says("minibatch 5 has passed and is no longer remembered"));
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_minibatch_that_has_gone_by_is_shown_at_once) {
    two_nodes cluster{100};
    std::erase_if(cluster.at(1).events, [](const trace_event& e) { return e.work.value() == 5; });
    const outcome seen = look(cluster, {"follow", "minibatch=5"});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows("minibatch 5: "));
    BOOST_TEST(seen.says("the path is not complete"));
    BOOST_TEST(!seen.says("waiting"));
}

BOOST_AUTO_TEST_CASE(the_clock_of_a_sender_that_remembers_nothing_is_taken_into_account) {
    two_nodes cluster{100};
    const auto look_without_sender = [&] {
        std::erase_if(cluster.at(1).events,
                      [](const trace_event& e) { return e.work.value() == 5; });
        return look(cluster, {"follow", "minibatch=5"}, json());
    };
    BOOST_TEST(look_without_sender().shows(R"("wire_ns":50000)"));
    cluster.at(1).list_takes_ns = 1; // it has just been started
    BOOST_TEST(!look_without_sender().shows(R"("wire_ns":50000)"));
}

BOOST_AUTO_TEST_CASE(a_minibatch_that_is_to_come_is_waited_for_and_where_the_run_is_is_said) {
    two_nodes cluster{3};
    std::atomic<bool> stop{false};
    int reads = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        stop = f.body_type() == type_id_of<proto::ReadTrace>() && ++reads == 5;
    };
    inspect_options options = json();
    options.stop = [&] { return stop.load(); };
    const outcome seen = look(cluster, {"follow", "minibatch=999999"}, options);
    BOOST_TEST(seen.code == 1);
    BOOST_TEST(seen.out == "");
    BOOST_TEST(seen.talk.starts_with("troupe inspect: waiting for minibatch 999999; the run is at "
                                     "minibatch 2; stop with Ctrl-C\n"));
    BOOST_TEST(seen.lines() == 2u); // and that it was stopped
}

BOOST_AUTO_TEST_CASE(a_minibatch_that_one_of_two_runs_has_yet_to_reach_is_waited_for) {
    two_nodes cluster{100};
    for (const std::uint64_t node : {1u, 2u})
        std::erase_if(cluster.at(node).events,
                      [](const trace_event& e) { return e.work.value() == 20; });
    BOOST_TEST(look(cluster, {"follow", "minibatch=20"}).says("minibatch 20 has passed"));
    add_second_run(cluster, 10);
    std::atomic<bool> stop{false};
    int reads = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        stop = stop || (f.body_type() == type_id_of<proto::ReadTrace>() && ++reads == 20);
    };
    inspect_options options;
    options.stop = [&] { return stop.load(); };
    const outcome seen = look(cluster, {"follow", "minibatch=20"}, options);
    BOOST_TEST(seen.code == 1);
    BOOST_TEST(seen.says("waiting for minibatch 20; the runs are at minibatches from 9 to 99"));
    BOOST_TEST(!seen.says("has passed"));
}

BOOST_AUTO_TEST_CASE(a_minibatch_that_both_of_two_runs_have_passed_has_passed) {
    two_nodes cluster{100};
    add_second_run(cluster, 90);
    for (const std::uint64_t node : {1u, 2u})
        std::erase_if(cluster.at(node).events,
                      [](const trace_event& e) { return e.work.value() == 5; });
    BOOST_TEST(look(cluster, {"follow", "minibatch=5"}).says("minibatch 5 has passed"));
}

BOOST_AUTO_TEST_CASE(of_two_runs_that_of_the_node_attached_to_is_shown_and_the_other_told) {
    two_nodes cluster{3};
    add_second_run(cluster, 3);
    const outcome first = look(cluster, {"follow", "minibatch=1"});
    BOOST_TEST(first.code == 0);
    BOOST_TEST(first.shows("minibatch 1: 2 stages, "));
    BOOST_TEST(first.shows("a/stage-0: "));
    BOOST_TEST(first.talk ==
               "troupe inspect: note: this is minibatch 1 of the run of a/data; the run of b/data "
               "has one, too; to see that, give run= or attach to the node of that run\n");
    inspect_options options;
    options.address = "b:1";
    const outcome second = look(cluster, {"follow", "minibatch=1"}, options);
    BOOST_TEST(second.shows("b/stage-0: "));
    BOOST_TEST(second.says("minibatch 1 of the run of b/data; the run of a/data has one"));
}

BOOST_AUTO_TEST_CASE(a_run_that_is_named_is_followed_alone) {
    two_nodes cluster{3};
    add_second_run(cluster, 3);
    const auto run_of = [](actor_number actor) { return actor.value() < 1'000'000 ? 1u : 2u; };
    for (const std::uint64_t node : {1u, 2u}) {
        for (actor_row& a : cluster.at(node).actors)
            a.run = run_of(a.number);
        for (trace_event& e : cluster.at(node).events)
            e.run = run_of(e.to_actor);
    }
    const outcome first = look(cluster, {"follow", "minibatch=1", "run=0x1"});
    BOOST_TEST(first.shows("a/stage-0: "));
    BOOST_TEST(first.talk == "");
    const outcome second = look(cluster, {"follow", "minibatch=1", "run=0x2"});
    BOOST_TEST(second.shows("b/stage-0: "));
    BOOST_TEST(second.talk == "");
    const outcome third = look(cluster, {"follow", "minibatch=1", "run=0x3"});
    BOOST_TEST(third.code == 1);
    BOOST_TEST(third.says("run 00000003 is not active, or trains no network"));
}

BOOST_AUTO_TEST_CASE(without_a_run_there_is_nothing_to_wait_for) {
    two_nodes cluster{3};
    end_run(cluster);
    const outcome other = look(cluster, {"follow", "minibatch=5"});
    BOOST_TEST(other.code == 1);
    BOOST_TEST(other.talk == "troupe inspect: no run is active, and minibatch 5 is not remembered; "
                             "the nodes remember 0 to 2\n");
    const outcome next = look(cluster, {"follow", "minibatch=next"});
    BOOST_TEST(next.code == 1);
    BOOST_TEST(next.talk == "troupe inspect: no run is active: no minibatch will come by\n");
    BOOST_TEST(look(cluster, {"follow", "minibatch=2"}).code == 0);
}

BOOST_AUTO_TEST_CASE(an_actor_that_asks_something_is_no_run) {
    two_nodes cluster{3};
    end_run(cluster);
    cluster.at(1).actors.push_back({actor_number{16}, "profile-question"});
    BOOST_TEST(look(cluster, {"follow", "minibatch=5"}).says("no run is active"));
    cluster.at(1).actors.push_back({actor_number{17}, "trainer"});
    BOOST_TEST(!look(cluster, {"follow", "minibatch=5"}).says("no run is active"));
}

BOOST_AUTO_TEST_CASE(a_run_whose_minibatches_do_not_come_is_not_waited_for_for_ever) {
    two_nodes cluster{0};
    for (const char* minibatch : {"minibatch=5", "minibatch=next"}) {
        const outcome seen = look(cluster, {"follow", minibatch});
        BOOST_TEST(seen.code == 1);
        BOOST_TEST(seen.says("no minibatch has come by for 120 ms; is a run going on here?"));
    }
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <atomic>

#include "actors/runtime/actor_names.hpp"
#include "tests/unit/tools_inspector/look.hpp"

using namespace troupe;
using namespace troupe::inspector;

BOOST_AUTO_TEST_SUITE(inspector_views)

BOOST_AUTO_TEST_CASE(actors_of_all_nodes_are_shown_from_the_address_of_one) {
    two_nodes cluster;
    cluster.at(1).handled_per_list = 250;
    cluster.at(1).list_takes_ns = 1'000'000'000;
    cluster.at(2).actors[0].paused = true;
    cluster.at(2).actors[0].mailbox_depth = 17;
    const outcome seen = look(cluster, {});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.talk == "");
    BOOST_TEST(seen.shows("3 actors on 2 nodes"));
    BOOST_TEST(seen.shows("250/s"));
    BOOST_TEST(seen.shows("paused"));
    BOOST_TEST(seen.shows("17"));
    BOOST_TEST(seen.shows("cpu:0"));
    BOOST_TEST(seen.shows("3.00 MB"));
    BOOST_TEST(seen.shows("sends to"));
    BOOST_TEST(seen.shows("rdma (rc_mlx5, mlx5_0:1)"));
    BOOST_TEST(seen.shows("321"));
}

BOOST_AUTO_TEST_CASE(actors_as_json_are_one_line) {
    two_nodes cluster;
    const outcome seen = look(cluster, {"actors"}, json());
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(std::ranges::count(seen.out, '\n') == 1);
    BOOST_TEST(seen.out.starts_with(R"({"event":"actors",)"));
    BOOST_TEST(seen.shows(R"("name":"stage-1")"));
    BOOST_TEST(seen.shows(R"("system_allocations":321)"));
    BOOST_TEST(seen.shows(R"("links":[{"node":"0x2",)"));
    BOOST_TEST(seen.shows(R"x("over":"rdma (rc_mlx5, mlx5_0:1)"}])x"));
}

BOOST_AUTO_TEST_CASE(staleness_shows_how_late_each_worker_was_and_for_whom_it_waits) {
    two_nodes cluster;
    const outcome nobody = look(cluster, {"staleness"});
    BOOST_TEST(nobody.code == 0);
    BOOST_TEST(
        nobody.shows("nobody here serves workers: no parameter server, centre or consensus"));
    actor_row& shard = cluster.at(1).actors[0];
    shard.workers = {{0, 12, {9, 2, 1}, 3u}, {3, 8, {0, 8}, {}}};
    const outcome seen = look(cluster, {"staleness"});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows("0: 9  1: 2  2: 1"));
    BOOST_TEST(seen.shows("0.3"));
    BOOST_TEST(seen.shows("for worker 3, 4 clocks behind"));
    BOOST_TEST(seen.shows("1: 8"));
    const outcome objects = look(cluster, {"staleness"}, json());
    BOOST_TEST(objects.out.starts_with(R"({"event":"staleness",)"));
    BOOST_TEST(objects.shows(R"("versions_late":[9,2,1],"waits_for":3)"));
    shard.workers[0].late.assign(late_counts_max + 1, 1);
    BOOST_TEST(look(cluster, {"staleness"}).code == 3);
}

void add_program(scripted_cluster& cluster, std::uint64_t run, const std::string& phase) {
    const std::string name = run_text(run) + "/";
    const auto add = [&](std::uint64_t node, std::uint64_t number, const std::string& role,
                         std::vector<fact_board::fact> facts) {
        actor_row a{actor_number{run * 100 + number}, name + role};
        a.run = run;
        a.facts = std::move(facts);
        cluster.at(node).actors.push_back(std::move(a));
    };
    add(1, 1, "worker-10", {{"phase", phase}, {"waits", "for phase " + phase}});
    add(2, 2, "worker-2", {{"phase", "3"}, {"waits", ""}});
    add(1, 3, "leader", {{"course", "running"}});
}

BOOST_AUTO_TEST_CASE(schedule_shows_a_table_of_facts_for_each_run) {
    two_nodes cluster;
    const outcome nobody = look(cluster, {"schedule"});
    BOOST_TEST(nobody.code == 0);
    BOOST_TEST(nobody.shows("no actor says anything of itself"));
    add_program(cluster, 0x5c6879d3, "1742");
    add_program(cluster, 0x77, "5");
    const outcome seen = look(cluster, {"schedule"});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.out == "run 00000077\n"
                           "node  actor               course   phase  waits\n"
                           "a     00000077/leader     running\n"
                           "b     00000077/worker-2                3\n"
                           "a     00000077/worker-10               5  for phase 5\n"
                           "\n"
                           "run 5c6879d3\n"
                           "node  actor               course   phase  waits\n"
                           "a     5c6879d3/leader     running\n"
                           "b     5c6879d3/worker-2                3\n"
                           "a     5c6879d3/worker-10            1742  for phase 1742\n");
    const outcome one = look(cluster, {"schedule", "run=5c6879d3"});
    BOOST_TEST(one.out == seen.out.substr(seen.out.find("run 5c6879d3")));
    BOOST_TEST(look(cluster, {"schedule", "run=0x9"}).shows("no actor says anything of itself"));
}

BOOST_AUTO_TEST_CASE(facts_as_json_are_objects) {
    two_nodes cluster;
    add_program(cluster, 0x77, "5");
    const outcome seen = look(cluster, {"schedule"}, json());
    BOOST_TEST(std::ranges::count(seen.out, '\n') == 1);
    BOOST_TEST(seen.out.starts_with(R"({"event":"schedule","actors":[{"node":"0x1",)"
                                    R"("node_name":"a","actor":11903,)"
                                    R"("name":"00000077/leader","run":"0x00000077",)"
                                    R"("facts":{"course":"running"}},)"));
    BOOST_TEST(seen.shows(R"("facts":{"phase":"5","waits":"for phase 5"}})"));
    BOOST_TEST(look(cluster, {"schedule", "run=0x9"}, json()).out ==
               "{\"event\":\"schedule\",\"actors\":[]}\n");
    BOOST_TEST(look(cluster, {}, json()).shows(R"("facts":{"phase":"5","waits":"for phase 5"}})"));
}

BOOST_AUTO_TEST_CASE(facts_that_a_terminal_would_obey_are_escaped) {
    two_nodes cluster;
    cluster.at(1).actors[0].facts = {{"a\x1b[2J", "b\x1b[2J\nc"}};
    const outcome seen = look(cluster, {"schedule"});
    BOOST_TEST(seen.shows("of no run\n"));
    BOOST_TEST(seen.shows("a\\x1b[2J"));
    BOOST_TEST(seen.shows("b\\x1b[2J\\x0ac"));
    BOOST_TEST(!seen.shows("\x1b"));
    BOOST_TEST(!look(cluster, {"schedule"}, json()).shows("\x1b"));
    cluster.at(1).actors[0].facts.assign(fact_board::facts_max + 1, {"a", "b"});
    BOOST_TEST(look(cluster, {"schedule"}).code == 3);
}

BOOST_AUTO_TEST_CASE(schedule_is_shown_again_and_again) {
    two_nodes cluster;
    add_program(cluster, 0x77, "5");
    int looks = 0;
    inspect_options options;
    options.watch = true;
    options.stop = [&] { return looks >= 2; };
    options.screen = [&] {
        ++looks;
        return screen_size{.rows = 3, .columns = 60};
    };
    const outcome seen = look(cluster, {"schedule"}, options);
    BOOST_TEST(seen.code == 0);
    const std::string clear = "\x1b[H\x1b[2J";
    BOOST_TEST(seen.out.find(clear) != seen.out.rfind(clear));
    BOOST_TEST(seen.shows("run 00000077"));
}

BOOST_AUTO_TEST_CASE(watching_ends_when_asked_to_stop_and_is_no_failure) {
    two_nodes cluster;
    std::atomic<bool> stop{false};
    int lists = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() == type_id_of<proto::ListActors>() && ++lists == 12)
            stop = true;
    };
    inspect_options options;
    options.watch = true;
    options.stop = [&] { return stop.load(); };
    const outcome seen = look(cluster, {}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.out.find("actors on") != seen.out.rfind("actors on"));
}

BOOST_AUTO_TEST_CASE(watching_on_a_terminal_neither_wraps_nor_scrolls) {
    two_nodes cluster;
    int looks = 0;
    inspect_options options;
    options.watch = true;
    options.stop = [&] { return looks >= 2; };
    options.screen = [&] {
        ++looks;
        return screen_size{.rows = 4, .columns = 12};
    };
    const outcome seen = look(cluster, {}, options);
    const std::string clear = "\x1b[H\x1b[2J";
    BOOST_TEST(seen.out.find(clear) != seen.out.rfind(clear));
    const std::string last = seen.out.substr(seen.out.rfind(clear) + clear.size());
    BOOST_TEST(std::ranges::count(last, '\n') == 3);
    for (std::istringstream lines{last}; !lines.eof();) {
        std::string line;
        std::getline(lines, line);
        BOOST_TEST(line.size() <= 12u, line);
    }
}

BOOST_AUTO_TEST_CASE(an_address_where_nobody_answers_is_one_line_and_code_3) {
    scripted_cluster cluster;
    const outcome seen = look(cluster, {});
    BOOST_TEST(seen.code == 3);
    BOOST_TEST(seen.talk == "troupe inspect: cannot connect to a:1: nobody answers\n");
    BOOST_TEST(seen.out == "");
}

BOOST_AUTO_TEST_CASE(a_wrong_key_is_one_line_and_code_3) {
    two_nodes cluster;
    cluster.refusal = error{errc::refused, "a:1 does not accept this key"};
    const outcome seen = look(cluster, {});
    BOOST_TEST(seen.code == 3);
    BOOST_TEST(seen.lines() == 1u);
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_answer_is_given_up) {
    two_nodes cluster;
    cluster.at(1).silent = true;
    const outcome seen = look(cluster, {});
    BOOST_TEST(seen.code == 3);
    BOOST_TEST(seen.talk == "troupe inspect: node a (a:1) has not answered for 20.0 ms\n");
}

BOOST_AUTO_TEST_CASE(a_node_without_members_is_looked_at_alone) {
    two_nodes cluster;
    cluster.at(1).knows_members = false;
    const outcome seen = look(cluster, {});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows("2 actors on 1 node"));
}

BOOST_AUTO_TEST_CASE(a_member_that_cannot_be_reached_is_left_out_with_a_note) {
    two_nodes cluster;
    cluster.at(2).silent = true;
    const outcome seen = look(cluster, {});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows("on 1 node"));
    BOOST_TEST(seen.says("node b (b:1) is left out: "));
    BOOST_TEST(seen.lines() == 1u);
}

BOOST_AUTO_TEST_CASE(a_member_that_is_started_anew_where_none_was_reached_is_looked_at) {
    two_nodes cluster;
    cluster.at(2).silent = true;
    int lists = 0;
    bool stop = false;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() != type_id_of<proto::ListActors>())
            return;
        if (++lists == 7) {
            cluster.at(2).info.address = "gone";
            cluster.add(3, "b");
        }
        stop = stop || lists == 10;
    };
    inspect_options options;
    options.watch = true;
    options.stop = [&] { return stop; };
    const outcome seen = look(cluster, {}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.says("node b (b:1) is left out: "));
    BOOST_TEST(seen.shows("on 2 nodes"));
}

BOOST_AUTO_TEST_CASE(a_member_that_is_lost_while_attached_is_noted_and_the_rest_goes_on) {
    two_nodes cluster;
    int lists = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() == type_id_of<proto::ListActors>() && ++lists == 7)
            cluster.lose(2, errc::lost);
    };
    const outcome seen = look(cluster, {});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.says("node b was lost: the connection ended"));
    BOOST_TEST(seen.lines() == 1u);
}

BOOST_AUTO_TEST_CASE(a_cluster_that_stops_before_there_is_anything_to_show_is_code_3) {
    scripted_cluster cluster;
    int lists = 0;
    cluster.add(1, "a").on_message = [&](const frame& f) {
        if (f.body_type() == type_id_of<proto::ListActors>() && ++lists == 6)
            cluster.lose(1, errc::cancelled);
    };
    BOOST_TEST(look(cluster, {"actors"}).code == 3);
}

BOOST_AUTO_TEST_CASE(a_node_that_breaks_the_protocol_is_given_up_and_the_rest_goes_on) {
    two_nodes cluster;
    for (int i = 0; i < 70'000; ++i)
        cluster.at(2).actors.push_back({actor_number{static_cast<std::uint64_t>(100 + i)}, "x"});
    const outcome seen = look(cluster, {});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.says(
        "node b (b:1) is left out: node b (b:1) sends what cannot be read: 70001 actors"));
    BOOST_TEST(seen.lines() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

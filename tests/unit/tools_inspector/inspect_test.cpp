#include <boost/test/unit_test.hpp>

#include <atomic>

#include "tests/unit/tools_inspector/look.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

frame_ptr tail_event(std::uint64_t minibatch, const std::string& body, std::uint64_t dropped = 0) {
    frame_builder<proto::TailEvent> b;
    b.body().setTail(1);
    b.body().setTypeName("Activation");
    b.body().setActorName("stage 0");
    b.body().setBody(body);
    b.body().setDropped(dropped);
    b.body().getEvent().setMinibatch(minibatch);
    b.body().getEvent().setToActor(30);
    b.body().getEvent().setFromNode(1);
    b.body().getEvent().setFromActor(20);
    b.body().getEvent().setEnqueuedNs(100);
    b.body().getEvent().setStartedNs(12'400);
    b.body().getEvent().setEndedNs(14'400);
    return std::move(b).finish();
}

} // namespace

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
}

BOOST_AUTO_TEST_CASE(actors_as_json_are_one_line) {
    two_nodes cluster;
    const outcome seen = look(cluster, {"actors"}, json());
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(std::ranges::count(seen.out, '\n') == 1);
    BOOST_TEST(seen.out.starts_with(R"({"event":"actors",)"));
    BOOST_TEST(seen.shows(R"("name":"stage 1")"));
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
    options.stop = &stop;
    const outcome seen = look(cluster, {}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.out.find("actors on") != seen.out.rfind("actors on"));
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

BOOST_AUTO_TEST_CASE(a_tail_shows_messages_and_gives_credit_back) {
    two_nodes cluster;
    for (std::uint64_t m = 0; m < 300; ++m)
        cluster.at(1).tail.push_back(
            tail_event(m, "(minibatch = " + std::to_string(m) + ")", m == 5 ? 12 : 0));
    inspect_options options;
    options.count = 300;
    const outcome seen = look(cluster, {"tail", "type=Activation"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(std::ranges::count(seen.out, '\n') == 300);
    BOOST_TEST(seen.shows(
        "Activation  a/data -> a/stage 0  minibatch 42  queue 12.3 us  run 2.00 us  0 B  "
        "(minibatch = 42)\n"));
    BOOST_TEST(cluster.at(1).credit_given == 256u); // in two portions
    BOOST_TEST(cluster.at(1).tail_closed);
    BOOST_TEST(seen.says("12 messages of node a not shown"));
    BOOST_TEST(seen.says("300 messages shown, 12 dropped"));
}

BOOST_AUTO_TEST_CASE(a_tail_as_json_ends_with_what_was_dropped) {
    two_nodes cluster;
    cluster.at(1).tail.push_back(tail_event(7, "x", 3));
    inspect_options options = json();
    options.count = 1;
    const outcome seen = look(cluster, {"tail"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows(R"("minibatch":7,"weight_version":null)"));
    BOOST_TEST(seen.out.ends_with("{\"event\":\"end\",\"shown\":1,\"dropped\":3}\n"));
}

BOOST_AUTO_TEST_CASE(a_condition_that_a_node_does_not_know_is_code_2) {
    two_nodes cluster;
    cluster.at(1).tail_problem = "there is no message type Activatoin";
    const outcome seen = look(cluster, {"tail", "type=Activatoin"});
    BOOST_TEST(seen.code == 2);
    BOOST_TEST(seen.talk.find("there is no message type Activatoin\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_tail_is_opened_at_the_receivers_node_for_the_senders_that_are_meant) {
    two_nodes cluster;
    int opened = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() == type_id_of<proto::OpenTail>())
            ++opened;
    };
    cluster.at(2).on_message = [&](const frame& f) {
        if (f.body_type() != type_id_of<proto::OpenTail>())
            return;
        const auto senders = f.body<proto::OpenTail>().getFilter().getSenders();
        BOOST_TEST_REQUIRE(senders.size() == 1u);
        BOOST_TEST(senders[0].getNode() == 1u);
        BOOST_TEST(senders[0].getActor() == 30u);
    };
    cluster.at(2).tail.push_back(tail_event(7, "x"));
    inspect_options options;
    options.count = 1;
    const outcome seen = look(cluster, {"tail", "actor=b/stage 1", "from=a/stage 0"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(opened == 0);
    BOOST_TEST(seen.lines() == 1u);
}

BOOST_AUTO_TEST_CASE(senders_and_nodes_that_are_not_there_are_code_2) {
    two_nodes cluster;
    const outcome nobody = look(cluster, {"tail", "from=stage 9"});
    BOOST_TEST(nobody.code == 2);
    BOOST_TEST(nobody.says("from=stage 9: no node has such an actor; did you mean \"stage 0\"?"));
    const outcome nowhere = look(cluster, {"tail", "node=c"});
    BOOST_TEST(nowhere.code == 2);
    BOOST_TEST(nowhere.says("there is no node c; the nodes are a, b"));
}

BOOST_AUTO_TEST_CASE(a_tail_that_may_wait_in_vain_says_for_what) {
    two_nodes cluster;
    cluster.at(1).tail.push_back(tail_event(7, "x"));
    inspect_options options;
    options.count = 1;
    const outcome seen = look(cluster, {"tail", "actor=stgae 0", "minibatch=7"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.says("if it has passed, look at it with: follow minibatch=7\n"));
    BOOST_TEST(seen.says("waiting for an actor stgae 0; did you mean \"stage 0\"?"));
}

BOOST_AUTO_TEST_CASE(what_a_node_sends_does_not_reach_the_terminal_raw) {
    two_nodes cluster;
    cluster.at(1).actors[0].name = "\x1b]0;evil\x07";
    cluster.at(1).info.name = "a\x1b[31m";
    cluster.at(1).info.address = "a:1";
    cluster.at(1).tail.push_back(tail_event(7, "\x1b[2J\n\rfake line", 1));
    inspect_options one;
    one.count = 1;
    for (const outcome& seen : {look(cluster, {"tail"}, one), look(cluster, {"actors"})}) {
        BOOST_TEST(seen.code == 0);
        for (const std::string& text : {seen.out, seen.talk})
            BOOST_TEST((text.find_first_of("\x1b\x07\r") == std::string::npos));
    }
}

BOOST_AUTO_TEST_CASE(a_tail_ends_with_code_3_when_the_last_node_is_lost) {
    scripted_cluster cluster;
    cluster.add(1, "a");
    // The node is lost right after it has opened the tail.
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() == type_id_of<proto::OpenTail>()) {
            frame_builder<proto::TailOpened> opened;
            opened.body().setTail(1);
            cluster.deliver(node_id{1}, std::move(opened));
            cluster.lose(1, errc::lost);
        }
    };
    const outcome seen = look(cluster, {"tail"});
    BOOST_TEST(seen.code == 3);
    BOOST_TEST(seen.says("node a was lost: the connection ended"));
}

BOOST_AUTO_TEST_CASE(a_tail_ends_with_code_0_when_the_cluster_stops_in_order) {
    scripted_cluster cluster;
    cluster.add(1, "a");
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() == type_id_of<proto::OpenTail>()) {
            frame_builder<proto::TailOpened> opened;
            cluster.deliver(node_id{1}, std::move(opened));
            cluster.lose(1, errc::cancelled);
        }
    };
    const outcome seen = look(cluster, {"tail"});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.says("the cluster has stopped"));
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

BOOST_AUTO_TEST_CASE(a_minibatch_is_followed_over_all_nodes) {
    two_nodes cluster{3};
    const outcome seen = look(cluster, {"follow", "minibatch=1"});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.talk == "");
    BOOST_TEST(seen.shows("minibatch 1: 2 stages, "));
    BOOST_TEST(seen.shows(
        "a/stage 0: forward with version 1, backward with 1 (equal); update of 1 made 2, lag 0"));
    BOOST_TEST(seen.shows("b/stage 1: forward with version 2, backward with 2 (equal)"));
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
    BOOST_TEST(seen.shows(R"("equal":true,"updated_version":3,"produced_version":4,"lag":0)"));
}

BOOST_AUTO_TEST_CASE(a_minibatch_that_has_gone_by_is_code_1_and_says_what_there_is) {
    two_nodes cluster{40};
    for (const std::uint64_t node : {1u, 2u})
        std::erase_if(cluster.at(node).events, [](const trace_event& e) {
            return e.minibatch.value() < 10 || e.minibatch.value() == none;
        });
    const outcome seen = look(cluster, {"follow", "minibatch=5"});
    BOOST_TEST(seen.code == 1);
    BOOST_TEST(
        seen.talk ==
        "troupe inspect: minibatch 5 is not in the traces of the nodes; they hold 10 to 39\n");
}

BOOST_AUTO_TEST_CASE(without_a_run_there_is_nothing_to_follow) {
    two_nodes cluster{0};
    const outcome seen = look(cluster, {"follow", "minibatch=5"});
    BOOST_TEST(seen.code == 1);
    BOOST_TEST(seen.says("is a run going on here?"));
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

BOOST_AUTO_TEST_CASE(a_node_that_sends_without_end_is_cut_off) {
    scripted_cluster cluster;
    cluster.add(1, "a").on_message = [&](const frame& f) {
        if (f.body_type() != type_id_of<proto::OpenTail>())
            return;
        const std::string megabyte(1u << 20, 'x');
        for (int i = 0; i < 300; ++i) {
            frame_builder<proto::TailEvent> big;
            big.body().setBody(megabyte);
            cluster.deliver(node_id{1}, std::move(big));
        }
        cluster.at(1).info.address = "gone";
    };
    const outcome seen = look(cluster, {"tail"});
    BOOST_TEST(seen.code == 3);
    BOOST_TEST(seen.says("it sent more than it was asked for"));
}

BOOST_AUTO_TEST_SUITE_END()

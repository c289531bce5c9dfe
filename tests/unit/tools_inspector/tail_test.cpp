// What tail shows, and what it says while it shows nothing.
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
    b.body().setActorName("stage-0");
    b.body().setBody(body);
    b.body().setDropped(dropped);
    b.body().getEvent().setWork(minibatch);
    b.body().getEvent().setToActor(30);
    b.body().getEvent().setFromNode(1);
    b.body().getEvent().setFromActor(20);
    b.body().getEvent().setEnqueuedNs(100);
    b.body().getEvent().setStartedNs(12'400);
    b.body().getEvent().setEndedNs(14'400);
    return std::move(b).finish();
}

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_tail)

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
        "Activation  a/data -> a/stage-0  minibatch 42  queue 12.3 us  run 2.00 us  0 B  "
        "(minibatch = 42)\n"));
    BOOST_TEST(cluster.at(1).credit_given == 256u); // in two portions
    BOOST_TEST(cluster.at(1).tail_closed);
    BOOST_TEST(seen.says("12 messages of node a not shown"));
    BOOST_TEST(seen.says("300 messages shown, 12 dropped"));
}

BOOST_AUTO_TEST_CASE(a_receiver_that_is_new_is_named) {
    two_nodes cluster;
    cluster.at(1).tail.push_back(tail_event(7, "x"));
    cluster.at(1).actors.clear(); // no list had it
    inspect_options options;
    options.count = 1;
    const outcome seen = look(cluster, {"tail"}, options);
    BOOST_TEST(seen.shows(" -> a/stage-0  "));
    BOOST_TEST(seen.says("1 message shown\n")); // and none dropped
}

BOOST_AUTO_TEST_CASE(a_tail_as_json_ends_with_what_was_dropped) {
    two_nodes cluster;
    cluster.at(1).tail.push_back(tail_event(7, "x", 3));
    inspect_options options = json();
    options.count = 1;
    const outcome seen = look(cluster, {"tail"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows(R"("minibatch":7,"weights":null)"));
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
    const outcome seen = look(cluster, {"tail", "actor=b/stage-1", "from=a/stage-0"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(opened == 0);
    BOOST_TEST(seen.lines() == 2u); // what is waited for, and how many were shown
}

BOOST_AUTO_TEST_CASE(senders_and_nodes_that_are_not_there_are_code_2) {
    two_nodes cluster;
    const outcome nobody = look(cluster, {"tail", "from=stage-9"});
    BOOST_TEST(nobody.code == 2);
    BOOST_TEST(nobody.says("from=stage-9: no node has such an actor; did you mean \"stage-0\"?"));
    const outcome nowhere = look(cluster, {"tail", "node=c"});
    BOOST_TEST(nowhere.code == 2);
    BOOST_TEST(nowhere.says("there is no node c; the nodes are a, b"));
}

BOOST_AUTO_TEST_CASE(senders_of_the_next_run_have_other_numbers_and_are_found) {
    two_nodes cluster;
    std::atomic<bool> stop{false};
    std::vector<std::uint64_t> senders;
    int lists = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() == type_id_of<proto::OpenTail>())
            for (const auto sender : f.body<proto::OpenTail>().getFilter().getSenders())
                senders.push_back(sender.getActor());
        if (f.body_type() != type_id_of<proto::ListActors>())
            return;
        if (++lists == 7)
            end_run(cluster);
        if (lists == 8) {
            cluster.at(1).actors.push_back({actor_number{50}, "stage-0"});
            cluster.at(1).tail.push_back(tail_event(7, "x"));
        }
        stop = lists == 11;
    };
    inspect_options options;
    options.count = 1;
    options.stop = [&] { return stop.load(); };
    const outcome seen = look(cluster, {"tail", "from=stage-0"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(senders == (std::vector<std::uint64_t>{30, 50}), boost::test_tools::per_element());
    BOOST_TEST(seen.says("the run is over; waiting for the next"));
    BOOST_TEST(seen.shows("minibatch 7"));
}

BOOST_AUTO_TEST_CASE(more_senders_than_a_tail_takes_are_code_2) {
    two_nodes cluster;
    for (std::uint64_t i = 0; i < limits::nodes_max; ++i)
        cluster.at(1).actors.push_back({actor_number{100 + i}, "stage-0"});
    cluster.at(1).tail.push_back(tail_event(7, "x"));
    inspect_options options;
    options.count = 1;
    const outcome seen = look(cluster, {"tail", "from=stage-0"}, options);
    BOOST_TEST(seen.code == 2);
    BOOST_TEST(seen.says("from=stage-0: 4097 actors go by this name"));
}

BOOST_AUTO_TEST_CASE(a_tail_says_at_once_for_what_it_waits) {
    two_nodes cluster;
    cluster.at(1).tail.push_back(tail_event(7, "x"));
    inspect_options options = json();
    options.count = 1;
    const outcome seen = look(cluster, {"tail", "actor=stgae-0", "minibatch=7"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.talk.starts_with("troupe inspect: waiting for messages with actor=stgae-0 "
                                     "minibatch=7; stop with Ctrl-C; what has passed is shown by: "
                                     "follow minibatch=7; no actor is called stgae-0: did you mean "
                                     "\"stage-0\"?"));
    BOOST_TEST(seen.lines() == 1u);
    BOOST_TEST(seen.out.starts_with(R"({"event":"message","seconds":)"));
    const auto type = seen.out.find(R"("type":)"); // the seconds are the clock's
    BOOST_TEST_REQUIRE(type != std::string::npos);
    BOOST_TEST(seen.out.substr(type) ==
               R"("type":"Activation","from":{"node":"0x1","actor":20,"name":"data"},)"
               R"("to":{"node":"0x1","actor":30,"name":"stage-0"},"sequence":0,)"
               R"("cause":0,"cause_node":"0x0","trace":0,"run":null,"minibatch":7,)"
               R"("weights":null,"queue_ns":12300,"run_ns":2000,"bytes":0,"body":"x",)"
               R"("tensors":"","dropped_before":0})"
               "\n"
               R"({"event":"end","shown":1,"dropped":0})"
               "\n");
}

BOOST_AUTO_TEST_CASE(a_tail_without_a_run_says_so) {
    two_nodes cluster;
    end_run(cluster);
    cluster.at(1).tail.push_back(tail_event(7, "x"));
    inspect_options options;
    options.count = 1;
    const outcome seen = look(cluster, {"tail"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.says("waiting for messages; stop with Ctrl-C; no run is active\n"));
}

BOOST_AUTO_TEST_CASE(a_node_that_joins_later_is_looked_at_too) {
    scripted_cluster cluster;
    std::atomic<bool> stop{false};
    int asked = 0;
    cluster.add(1, "a").on_message = [&](const frame& f) {
        if (f.body_type() != type_id_of<proto::ListMembers>())
            return;
        stop = ++asked == 9;
        if (asked == 2)
            cluster.add(2, "b").tail.push_back(tail_event(7, "x"));
    };
    inspect_options options;
    options.count = 1;
    options.stop = [&] { return stop.load(); };
    const outcome seen = look(cluster, {"tail"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows(" -> b/stage-0  "));
}

BOOST_AUTO_TEST_CASE(a_tail_says_when_the_run_is_over) {
    two_nodes cluster;
    std::atomic<bool> stop{false};
    int lists = 0;
    cluster.at(1).on_message = [&](const frame& f) {
        if (f.body_type() != type_id_of<proto::ListActors>())
            return;
        if (++lists == 8)
            end_run(cluster);
        stop = lists == 10;
    };
    inspect_options options;
    options.stop = [&] { return stop.load(); };
    const outcome seen = look(cluster, {"tail"}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.says("waiting for messages; stop with Ctrl-C\n"));
    BOOST_TEST(seen.says("the run is over; waiting for the next; stop with Ctrl-C\n"));
}

BOOST_AUTO_TEST_CASE(what_a_node_sends_does_not_reach_the_terminal_raw) {
    two_nodes cluster;
    cluster.at(1).actors[0].name = "\x1b]0;evil\x07\x7f\xc2\x9b";
    cluster.at(1).info.name = "a\x1b[31m";
    cluster.at(1).info.address = "a:1";
    cluster.at(1).tail.push_back(tail_event(7, "\x1b[2J\n\rfake line\xc2\x9b", 1));
    inspect_options one;
    one.count = 1;
    inspect_options one_json = json();
    one_json.count = 1;
    for (const outcome& seen :
         {look(cluster, {"tail"}, one), look(cluster, {"actors"}),
          look(cluster, {"tail"}, one_json), look(cluster, {"actors"}, json())}) {
        BOOST_TEST(seen.code == 0);
        for (const std::string& text : {seen.out, seen.talk})
            BOOST_TEST((text.find_first_of("\x1b\x07\r\x7f\x9b") == std::string::npos));
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

BOOST_AUTO_TEST_CASE(a_cluster_that_stops_while_it_is_asked_has_stopped_in_order) {
    scripted_cluster cluster;
    int asked = 0;
    cluster.add(1, "a").on_message = [&](const frame& f) {
        if (f.body_type() != type_id_of<proto::ListMembers>() || ++asked < 2)
            return;
        cluster.at(1).silent = true;
        cluster.lose(1, errc::cancelled);
    };
    const outcome seen = look(cluster, {"tail"});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.says("the cluster has stopped"));
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

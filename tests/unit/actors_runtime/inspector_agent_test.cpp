// The agent that answers inspectors on a node.
#include "tests/unit/actors_runtime/inspected.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(inspector_agents)

BOOST_FIXTURE_TEST_CASE(actors_are_listed_with_their_names_and_counters, inspected) {
    for (int i = 0; i < 3; ++i)
        node.send(worker, probe(1));
    settle();
    ask(frame_builder<proto::ListActors>{});
    BOOST_REQUIRE_EQUAL(kept.lists.size(), 1u);
    const auto list = kept.lists[0]->body<proto::ActorList>();
    BOOST_TEST(list.getNodeName().cStr() == "a");
    std::vector<std::string> names;
    for (const auto a : list.getActors()) {
        names.emplace_back(a.getName().cStr());
        if (a.getNumber() == worker.actor.value())
            BOOST_TEST(a.getMessagesHandled() == 3u);
    }
    BOOST_TEST(names == (std::vector<std::string>{"inspector", "watcher", "worker"}),
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_trace_has_one_event_per_handled_message, inspected) {
    for (std::uint64_t i = 0; i < 50; ++i) {
        auto b = probe(i);
        b.envelope().setWork(i);
        b.envelope().setStateVersion(2 * i);
        node.send(worker, std::move(b));
    }
    settle();
    frame_builder<proto::ReadTrace> question;
    question.body().initFilter().setType("Probe");
    ask(std::move(question));
    BOOST_REQUIRE_EQUAL(kept.batches.size(), 1u);
    const auto batch = kept.batches[0]->body<proto::TraceBatch>();
    BOOST_TEST(batch.getLost() == 0u);
    BOOST_REQUIRE_EQUAL(batch.getEvents().size(), 50u);
    for (unsigned i = 0; i < 50; ++i) {
        const auto e = batch.getEvents()[i];
        BOOST_TEST(e.getWork() == i);
        BOOST_TEST(e.getStateVersion() == 2 * i);
        BOOST_TEST(e.getToActor() == worker.actor.value());
        BOOST_TEST(e.getBytes() > 0u);
        BOOST_TEST(e.getSentNs() <= e.getEnqueuedNs());
        BOOST_TEST(e.getEnqueuedNs() <= e.getStartedNs());
        BOOST_TEST(e.getStartedNs() <= e.getEndedNs());
    }
    BOOST_REQUIRE_EQUAL(batch.getTypes().size(), 1u);
    BOOST_TEST(batch.getTypes()[0].getName().cStr() == "Probe");
}

BOOST_FIXTURE_TEST_CASE(device_work_is_in_the_trace_under_its_label, inspected) {
    const auto a =
        node.spawn<probe_actor>("computing", log, [](probe_actor& self, auto, const frame&) {
            self.trace_compute(self.runtime().trace().label("forward conv2d"), time_point{100},
                               time_point{250}, minibatch_id{7}, weight_version{3});
        });
    node.send(a, probe(0));
    settle();
    ask(frame_builder<proto::ReadTrace>{});
    const auto batch = kept.batches.at(0)->body<proto::TraceBatch>();
    unsigned found = 0;
    for (const auto e : batch.getEvents())
        if (e.getKind() == proto::TraceKind::COMPUTE) {
            ++found;
            BOOST_TEST(batch.getLabels()[static_cast<unsigned>(e.getType())].cStr() ==
                       "forward conv2d");
            BOOST_TEST(e.getEndedNs() - e.getStartedNs() == 150);
            BOOST_TEST(e.getWork() == 7u);
            BOOST_TEST(e.getSequence() > 0u);
        }
    BOOST_TEST(found == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_tail_shows_what_matches_a_field_and_nothing_else, inspected) {
    open_tail(1, 100, "Probe", "number", "42");
    BOOST_REQUIRE_EQUAL(kept.opened.size(), 1u);
    BOOST_TEST(kept.opened[0]->body<proto::TailOpened>().getProblem().size() == 0u);
    for (std::uint64_t i = 40; i < 45; ++i)
        node.send(worker, probe(i));
    settle();
    BOOST_REQUIRE_EQUAL(kept.tails.size(), 1u);
    const auto shown = kept.tails[0]->body<proto::TailEvent>();
    BOOST_TEST(shown.getTypeName().cStr() == "Probe");
    BOOST_TEST(shown.getActorName().cStr() == "worker");
    BOOST_TEST(std::string{shown.getBody().cStr()}.find("number = 42") != std::string::npos);
    frame_builder<proto::CloseTail> close;
    close.body().setTail(1);
    ask(std::move(close));
    node.send(worker, probe(42));
    settle();
    BOOST_TEST(kept.tails.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_tail_without_credit_counts_what_it_does_not_send, inspected) {
    open_tail(1, 2, "Probe");
    for (std::uint64_t i = 0; i < 10; ++i)
        node.send(worker, probe(i));
    settle();
    BOOST_TEST(kept.tails.size() == 2u);
    frame_builder<proto::TailCredit> more;
    more.body().setTail(1);
    more.body().setCredit(5);
    ask(std::move(more));
    node.send(worker, probe(99));
    settle();
    BOOST_REQUIRE_EQUAL(kept.tails.size(), 3u);
    BOOST_TEST(kept.tails[2]->body<proto::TailEvent>().getDropped() == 8u);
}

BOOST_FIXTURE_TEST_CASE(a_filter_that_cannot_match_is_refused_with_the_names_there_are, inspected) {
    open_tail(1, 1, "Prob");
    open_tail(2, 1, "Probe", "numbr", "1");
    BOOST_REQUIRE_EQUAL(kept.opened.size(), 2u);
    BOOST_TEST(std::string{kept.opened[0]->body<proto::TailOpened>().getProblem().cStr()}.find(
                   "Prob") != std::string::npos);
    BOOST_TEST(std::string{kept.opened[1]->body<proto::TailOpened>().getProblem().cStr()}.find(
                   "number, hops, note") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(names_and_values_that_no_message_has_are_refused, inspected) {
    const auto problem = [&](const std::string& type, const std::string& field = {},
                             const std::string& value = {}) -> std::string {
        open_tail(kept.opened.size() + 1, 1, type, field, value);
        return kept.opened.back()->body<proto::TailOpened>().getProblem().cStr();
    };
    BOOST_TEST(problem("Activatoin")
                   .starts_with("there is no message type Activatoin; did you "
                                "mean \"Activation\"? the types are Activation, "));
    BOOST_TEST(problem("TailEvent").ends_with("own messages, which are not shown"));
    BOOST_TEST(
        problem("Probe", "numbr", "1") ==
        "Probe has no field numbr; did you mean \"number\"? its fields are number, hops, note");
    BOOST_TEST(problem("Probe", "hops", "4294967296") ==
               "hops of Probe is a whole number from 0 to 4294967295, never '4294967296'");
    BOOST_TEST(problem("Probe", "number", "-1").ends_with("never '-1'"));
    BOOST_TEST(problem("Probe", "number.of", "1") ==
               "field number of Probe has no fields of its own");
    BOOST_TEST(problem("MinibatchDone", "lossSum", "low").ends_with("is a number, never 'low'"));
    BOOST_TEST(problem("PeerUp", "role", "boss").find(", never 'boss'") != std::string::npos);
    // Without a type: of any.
    BOOST_TEST(problem("", "numbr", "1")
                   .starts_with("no message has a field numbr; did you mean \"number\"?"));
    BOOST_TEST(problem("", "hops", "x").ends_with("never 'x'"));
    BOOST_TEST(problem("", "number", "1") == "");
    BOOST_TEST(problem("Spawn", "options.part.stage", "1") == "");
    BOOST_TEST(problem("Spawn", "options.prat", "1") ==
               "nothing that can be Spawn.options has a field prat that can be so");
    BOOST_TEST(problem("MinibatchDone", "lossSum", "0.05") == "");
    BOOST_TEST(problem("PeerUp", "role", "observer") == "");
}

BOOST_FIXTURE_TEST_CASE(numbers_in_filters_are_compared_as_numbers, inspected) {
    frame_builder<proto::Spawn> spawn;
    spawn.body().setOptionsType(type_id_of<proto::StageOptions>());
    auto part = spawn.body().getOptions().initAs<proto::StageOptions>().initPart();
    part.initTrain().initOptimizer().initSgd().setLearningRate(0.05f);
    const frame_ptr message = std::move(spawn).finish();
    const auto holds = [&](const std::string& field, const std::string& value) {
        capnp::MallocMessageBuilder scratch;
        auto fields = scratch.initRoot<proto::Filter>().initFields(1);
        fields[0].setPath(field);
        fields[0].setValue(value);
        return message_filter::parse(scratch.getRoot<proto::Filter>(), *all_messages())
            .value()
            .matches_fields(*message, *all_messages());
    };
    BOOST_TEST(holds("options.part.train.optimizer.sgd.learningRate", "0.05"));
    BOOST_TEST(holds("options.part.train.optimizer.sgd.learningRate", "5e-2"));
    BOOST_TEST(!holds("options.part.train.optimizer.sgd.learningRate", "0.06"));
    BOOST_TEST(holds("options.part.stage", "00"));
    BOOST_TEST(!holds("options.workers", "1")); // of other roles
    BOOST_TEST(holds("request", "00"));
    BOOST_TEST(!holds("request", "1"));
}

BOOST_FIXTURE_TEST_CASE(a_tail_can_want_certain_senders, inspected) {
    const auto relay = node.spawn<probe_actor>(
        "relay", log, [&](probe_actor& self, auto, const frame&) { self.send(worker, probe(7)); });
    frame_builder<proto::OpenTail> b;
    b.body().setTail(1);
    b.body().setCredit(9);
    auto sender = b.body().initFilter().initSenders(1)[0];
    sender.setNode(relay.node.value());
    sender.setActor(relay.actor.value());
    ask(std::move(b));
    node.send(worker, probe(1));
    node.send(relay, probe(2));
    settle();
    BOOST_REQUIRE_EQUAL(kept.tails.size(), 1u);
    const auto shown = kept.tails[0]->body<proto::TailEvent>();
    BOOST_TEST(shown.getEvent().getFromActor() == relay.actor.value());
    BOOST_TEST(std::string{shown.getBody().cStr()}.find("number = 7") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(an_observer_cannot_reach_other_actors, inspected) {
    const auto meddler =
        tools.spawn<probe_actor>("meddler", meddling, [&](probe_actor& self, auto, const frame&) {
            self.send(worker, probe(1));
            self.send(worker, frame_builder<proto::Rejected>{});
        });
    tools.send(meddler, probe(0));
    settle();
    BOOST_TEST(log.numbers.empty());
    BOOST_TEST(log.rejected.empty());
    BOOST_TEST(meddling.rejected == std::vector<std::string>{"an observer may only look"},
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_tail_ends_with_its_observer, inspected) {
    open_tail(1, 1000, "Probe");
    node.send(worker, probe(1));
    settle();
    BOOST_TEST(kept.tails.size() == 1u);
    sim.kill(tools);
    settle();
    node.send(worker, probe(2));
    settle();
    BOOST_TEST(node.statistics().frames_lost == 0u); // nothing is sent to it any more
    BOOST_TEST(log.numbers.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

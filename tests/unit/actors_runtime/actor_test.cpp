#include <boost/test/unit_test.hpp>

#include <capnp/serialize.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>
#include <stdexcept>

#include "actors/runtime/message_types.hpp"
#include "actors/runtime/node_core.hpp"
#include "actors/runtime/simulator.hpp"
#include "tests/support/all_messages.hpp"
#include "tests/unit/actors_runtime/probe_actor.hpp"

using namespace troupe;
using troupe::test::all_messages;
using namespace std::chrono_literals;

namespace {

struct one_node {
    probe_log log, other, sender_log, watcher_log; // outlive the actors
    simulator sim{{}};
    node_runtime& node = sim.add_node("a");

    void settle() { sim.run_for(1s); }
};

std::vector<std::uint64_t> counted(std::uint64_t first, std::size_t n) {
    std::vector<std::uint64_t> list(n);
    std::iota(list.begin(), list.end(), first);
    return list;
}

// A frame whose body pointer leads nowhere, as a faulty sender might have written it.
class broken_frame final : public frame {
  public:
    broken_frame(actor_address from, actor_address to) {
        auto root = message_.initRoot<proto::Frame>();
        auto envelope = root.initEnvelope();
        envelope.getFrom().setNode(from.node.value());
        envelope.getFrom().setActor(from.actor.value());
        envelope.getTo().setNode(to.node.value());
        envelope.getTo().setActor(to.actor.value());
        envelope.setSequence(99);
        root.setBodyType(type_id_of<proto::Probe>());
        root.getBody().setAs<capnp::Text>("text is no struct");
        root_ = root.asReader();
        body_type_ = type_id_of<proto::Probe>();
    }
    ~broken_frame() noexcept override {}

    kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments() const override {
        return message_.getSegmentsForOutput();
    }

  private:
    mutable capnp::MallocMessageBuilder message_;
};

// Takes a struct that no table calls a message.
class unlisted_actor final : public actor {
  public:
    explicit unlisted_actor(actor_context& context) : actor{context} {
        on<proto::TensorDescriptor>(&unlisted_actor::take);
    }

  private:
    void take(proto::TensorDescriptor::Reader, const frame&) {}
};

} // namespace

BOOST_AUTO_TEST_SUITE(actors)

BOOST_FIXTURE_TEST_CASE(a_message_reaches_the_handler_of_its_type_after_the_start, one_node) {
    const auto a =
        node.spawn<probe_actor>("a", log, [&](probe_actor&, proto::Probe::Reader, const frame&) {
            BOOST_TEST(log.started);
        });
    node.send(a, probe(7));
    settle();
    BOOST_TEST(log.numbers == std::vector<std::uint64_t>{7});
}

BOOST_FIXTURE_TEST_CASE(messages_arrive_in_the_order_of_sending, one_node) {
    const auto receiver = node.spawn<probe_actor>("receiver", log);
    const auto sender =
        node.spawn<probe_actor>("sender", sender_log, [&](probe_actor& self, auto, const frame&) {
            for (std::uint64_t i = 0; i < 200; ++i)
                self.send(receiver, probe(i));
        });
    node.send(sender, probe(0));
    settle();
    BOOST_TEST(log.numbers == counted(0, 200), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_envelope_says_where_from_because_of_what_and_in_which_trace, one_node) {
    frame_ptr first, second;
    const auto receiver = node.spawn<probe_actor>(
        "receiver", log, [&](probe_actor& self, auto, const frame&) { second = self.current(); });
    const auto sender =
        node.spawn<probe_actor>("sender", other, [&](probe_actor& self, auto, const frame&) {
            first = self.current();
            auto b = probe(1);
            b.envelope().setWork(42);
            self.send(receiver, std::move(b));
        });
    auto b = probe(0);
    b.envelope().setTraceId(77);
    node.send(sender, std::move(b));
    settle();
    BOOST_REQUIRE(first);
    BOOST_REQUIRE(second);
    BOOST_TEST((second->from() == sender));
    BOOST_TEST((second->to() == receiver));
    BOOST_TEST(second->envelope().getCause() == first->envelope().getSequence());
    BOOST_TEST(second->envelope().getCauseNode() == node.node().value());
    BOOST_TEST(second->envelope().getTraceId() == 77u);
    BOOST_TEST(second->envelope().getWork() == 42u);
    BOOST_TEST(second->envelope().getStateVersion() == none);
    BOOST_TEST(second->envelope().getSequence() > first->envelope().getSequence());
}

BOOST_FIXTURE_TEST_CASE(a_type_without_handler_is_answered_by_rejected, one_node) {
    const auto receiver = node.spawn<probe_actor>("receiver", other);
    const auto sender =
        node.spawn<probe_actor>("sender", log, [&](probe_actor& self, auto, const frame&) {
            self.send(receiver, frame_builder<proto::Heartbeat>{});
        });
    node.send(sender, probe(0));
    settle();
    BOOST_REQUIRE_EQUAL(log.rejected.size(), 1u);
    BOOST_TEST(log.rejected[0].find("receiver") != std::string::npos);
    node.send(receiver, probe(5)); // it lives on
    settle();
    BOOST_TEST(other.numbers == std::vector<std::uint64_t>{5});
}

BOOST_FIXTURE_TEST_CASE(a_message_to_nobody_is_answered_by_rejected, one_node) {
    const auto sender =
        node.spawn<probe_actor>("sender", log, [&](probe_actor& self, auto, const frame&) {
            self.send({node.node(), actor_number{4711}}, probe(1));
        });
    node.send(sender, probe(0));
    settle();
    BOOST_REQUIRE_EQUAL(log.rejected.size(), 1u);
    BOOST_TEST(node.statistics().frames_rejected == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_malformed_body_is_rejected_and_counted_and_the_actor_lives_on, one_node) {
    const auto a = node.spawn<probe_actor>("a", log);
    const auto sender = node.spawn<probe_actor>("sender", sender_log);
    core_of(node).post(std::make_shared<broken_frame>(sender, a));
    node.send(a, probe(3));
    settle();
    BOOST_TEST(node.statistics().bodies_malformed == 1u);
    BOOST_REQUIRE_EQUAL(sender_log.rejected.size(), 1u);
    BOOST_TEST(sender_log.rejected[0].find("cannot be read") != std::string::npos);
    BOOST_TEST(log.numbers == std::vector<std::uint64_t>{3});
}

BOOST_FIXTURE_TEST_CASE(a_handler_may_reject_what_it_was_sent, one_node) {
    const auto receiver =
        node.spawn<probe_actor>("receiver", other, [](probe_actor& self, auto, const frame&) {
            self.reject("wrong minibatch");
        });
    const auto sender =
        node.spawn<probe_actor>("sender", log, [&](probe_actor& self, auto, const frame&) {
            self.send(receiver, probe(1));
        });
    node.send(sender, probe(0));
    settle();
    BOOST_TEST(log.rejected == std::vector<std::string>{"wrong minibatch"},
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(an_exception_in_a_handler_ends_the_actor_and_tells_its_watchers, one_node) {
    const auto a = node.spawn<probe_actor>("worker", log, [](probe_actor&, auto, const frame&) {
        throw std::runtime_error{"broken invariant"};
    });
    const auto watcher = node.spawn<probe_actor>(
        "watcher", watcher_log, [&](probe_actor& self, auto, const frame&) { self.watch(a); });
    node.send(watcher, probe(0));
    settle();
    node.send(a, probe(1));
    settle();
    BOOST_REQUIRE_EQUAL(watcher_log.downs.size(), 1u);
    BOOST_TEST(watcher_log.downs[0].find("worker failed: broken invariant") != std::string::npos);
    BOOST_TEST(node.statistics().actors_failed == 1u);
    BOOST_TEST(log.ended);
    BOOST_TEST(!node.address_of("worker").has_value());
}

BOOST_FIXTURE_TEST_CASE(what_is_left_in_the_mailbox_of_an_ended_actor_is_answered, one_node) {
    const auto receiver = node.spawn<probe_actor>(
        "receiver", other, [](probe_actor& self, auto, const frame&) { self.quit(); });
    const auto sender =
        node.spawn<probe_actor>("sender", log, [&](probe_actor& self, auto, const frame&) {
            for (std::uint64_t i = 0; i < 10; ++i)
                self.send(receiver, probe(i));
        });
    node.send(sender, probe(0));
    settle();
    BOOST_TEST(other.numbers.size() == 1u);
    BOOST_TEST(log.rejected.size() == 9u);
}

BOOST_FIXTURE_TEST_CASE(the_list_of_actors_says_depth_and_messages_handled, one_node) {
    const auto a = node.spawn<probe_actor>("counter", log);
    node.pause(a);
    for (std::uint64_t i = 0; i < 5; ++i)
        node.send(a, probe(i));
    settle();
    const auto status = [&] {
        for (const auto& s : node.actors())
            if (s.address == a)
                return s;
        return actor_status{};
    };
    BOOST_TEST(status().mailbox_depth == 5u);
    BOOST_TEST(status().paused);
    node.unpause(a);
    settle();
    BOOST_TEST(status().name == "counter");
    BOOST_TEST(status().mailbox_depth == 0u);
    BOOST_TEST(status().messages_handled == 5u);
}

BOOST_FIXTURE_TEST_CASE(a_paused_actor_takes_exactly_the_steps_it_is_given, one_node) {
    const auto a = node.spawn<probe_actor>("a", log);
    settle();
    node.pause(a);
    for (std::uint64_t i = 0; i < 10; ++i)
        node.send(a, probe(i));
    settle();
    BOOST_TEST(log.numbers.empty());
    BOOST_TEST(node.step(a, 3));
    settle();
    BOOST_TEST(log.numbers == counted(0, 3), boost::test_tools::per_element());
    BOOST_TEST(node.step(a, 1));
    settle();
    BOOST_TEST(log.numbers.size() == 4u);
    node.unpause(a);
    settle();
    BOOST_TEST(log.numbers == counted(0, 10), boost::test_tools::per_element());
    BOOST_TEST(!node.step(a, 1)); // not paused any more
}

BOOST_FIXTURE_TEST_CASE(timers_fire_in_time_and_order_and_not_once_cancelled, one_node) {
    std::vector<std::int64_t> at;
    const auto a = node.spawn<probe_actor>(
        "a", log, [&](probe_actor& self, proto::Probe::Reader body, const frame&) {
            at.push_back(self.now().ns);
            if (body.getNumber() != 0)
                return;
            self.after(30ms, probe(3));
            self.after(10ms, probe(1));
            const timer_id dropped = self.after(20ms, probe(2));
            BOOST_TEST(self.cancel(dropped));
            BOOST_TEST(!self.cancel(dropped));
        });
    node.send(a, probe(0));
    settle();
    BOOST_TEST(log.numbers == (std::vector<std::uint64_t>{0, 1, 3}),
               boost::test_tools::per_element());
    BOOST_TEST(at.at(1) - at.at(0) >= 10'000'000);
    BOOST_TEST(at.at(1) - at.at(0) < 11'000'000);
    BOOST_TEST(at.at(2) - at.at(0) >= 30'000'000);
}

BOOST_FIXTURE_TEST_CASE(a_timer_cancelled_while_its_message_waits_is_not_handled, one_node) {
    timer_id timer;
    const auto a = node.spawn<probe_actor>(
        "a", log, [&](probe_actor& self, proto::Probe::Reader body, const frame&) {
            if (body.getNumber() == 0)
                timer = self.after(1ms, probe(1));
            else if (body.getNumber() == 5)
                BOOST_TEST(self.cancel(timer));
        });
    node.send(a, probe(0));
    sim.run_for(100us);
    node.pause(a);
    node.send(a, probe(5)); // lies before the timer's message
    settle();
    node.unpause(a);
    settle();
    BOOST_TEST(log.numbers == (std::vector<std::uint64_t>{0, 5}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(what_is_posted_through_a_handle_names_its_cause, one_node) {
    std::uint64_t first = 0, cause = 0;
    const auto a = node.spawn<probe_actor>(
        "a", log, [&](probe_actor& self, proto::Probe::Reader body, const frame& f) {
            if (body.getNumber() == 0) {
                first = f.envelope().getSequence();
                self.self_handle().post(probe(1));
            } else {
                cause = f.envelope().getCause();
                BOOST_TEST((f.from() == self.self()));
            }
        });
    node.send(a, probe(0));
    settle();
    BOOST_TEST(log.numbers.size() == 2u);
    BOOST_TEST(cause == first);
}

BOOST_AUTO_TEST_CASE(a_handle_may_outlive_actor_and_runtime) {
    std::optional<self_handle> kept;
    probe_log log;
    {
        simulator sim{{}};
        node_runtime& node = sim.add_node("a");
        const auto a =
            node.spawn<probe_actor>("a", log, [&](probe_actor& self, auto, const frame&) {
                kept.emplace(self.self_handle());
            });
        node.send(a, probe(0));
        sim.run_for(1s);
    }
    BOOST_REQUIRE(kept);
    kept->post(probe(1));
    BOOST_TEST(log.numbers.size() == 1u);
    BOOST_TEST(log.ended);
}

BOOST_AUTO_TEST_CASE(a_handler_of_a_type_without_a_line_in_the_table_ends_the_process) {
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL); // not Boost's
        simulator sim{{}};
        sim.add_node("a").spawn<unlisted_actor>("a");
        _exit(0);
    }
    int status = 0;
    BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
    BOOST_TEST(WIFSIGNALED(status));
    BOOST_TEST(WTERMSIG(status) == SIGABRT);
}

BOOST_AUTO_TEST_CASE(every_message_type_is_in_the_table_under_its_name) {
    BOOST_REQUIRE(all_messages()->find(type_id_of<proto::Down>()) != nullptr);
    BOOST_TEST(all_messages()->find(type_id_of<proto::Down>())->name == "Down");
    BOOST_REQUIRE(all_messages()->find("Activation") != nullptr);
    BOOST_TEST(all_messages()->find("NoSuchThing") == nullptr);
    BOOST_TEST(all_messages()->name_of(1) == "0x0000000000000001");
}

BOOST_AUTO_TEST_SUITE_END()

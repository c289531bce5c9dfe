// The runtime on real threads. What is waited for is a condition, never a time.
#include <boost/test/unit_test.hpp>

#include <future>
#include <numeric>
#include <thread>

#include "tests/unit/actors_runtime/probe_actor.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

struct real_node {
    monotonic_time time;
    thread_timers timers;
    probe_log log;
    node_runtime node{{.node = node_id{1},
                       .name = "a",
                       .time = &time,
                       .timers = &timers,
                       .threads = 2,
                       .trace_events = 1u << 14}};
};

// A time source that lets one reader, on the thread that asked for it, take its time.
class slow_time final : public time_source {
  public:
    time_point now() const noexcept override {
        if (std::this_thread::get_id() == slow_.load() && !entered_.exchange(true)) {
            reading.set_value();
            finish.get_future().wait();
        }
        return {};
    }
    void slow_down_this_thread() { slow_ = std::this_thread::get_id(); }

    mutable std::promise<void> reading, finish;

  private:
    std::atomic<std::thread::id> slow_{};
    mutable std::atomic<bool> entered_{false};
};

// Fulfils the promise at the `n`th message.
probe_actor::reaction count_to(std::size_t n, std::promise<void>& done) {
    return [n, &done, seen = std::size_t{0}](probe_actor&, auto, const frame&) mutable {
        if (++seen == n)
            done.set_value();
    };
}

} // namespace

BOOST_AUTO_TEST_SUITE(threads)

BOOST_FIXTURE_TEST_CASE(messages_from_several_threads_arrive_each_in_its_order, real_node) {
    constexpr std::uint64_t senders = 3, each = 2000;
    std::promise<void> done;
    const auto a = node.spawn<probe_actor>("a", log, count_to(senders * each, done));
    std::vector<std::thread> threads;
    for (std::uint64_t s = 0; s < senders; ++s)
        threads.emplace_back([&, s] {
            for (std::uint64_t i = 0; i < each; ++i)
                node.send(a, probe(s * each + i));
        });
    for (std::thread& t : threads)
        t.join();
    done.get_future().wait();
    std::vector<std::uint64_t> next(senders);
    std::size_t misplaced = 0;
    for (const std::uint64_t number : log.numbers)
        misplaced += number % each == next[number / each]++ ? 0 : 1;
    BOOST_TEST(misplaced == 0u);
}

BOOST_FIXTURE_TEST_CASE(no_message_is_lost_or_reordered_by_pausing, real_node) {
    constexpr std::uint64_t messages = 20000;
    std::promise<void> done;
    const auto a = node.spawn<probe_actor>("a", log, count_to(messages, done));
    std::thread sender{[&] {
        for (std::uint64_t i = 0; i < messages; ++i)
            node.send(a, probe(i));
    }};
    for (int i = 0; i < 2000; ++i) {
        node.pause(a);
        if (i % 3 == 0)
            node.step(a, 1);
        node.unpause(a);
    }
    sender.join();
    done.get_future().wait();
    std::vector<std::uint64_t> expected(messages);
    std::iota(expected.begin(), expected.end(), 0);
    BOOST_TEST((log.numbers == expected));
}

BOOST_FIXTURE_TEST_CASE(a_paused_actor_takes_the_steps_it_is_given, real_node) {
    std::promise<void> third;
    const auto a = node.spawn<probe_actor>("a", log, count_to(3, third));
    node.pause(a);
    for (std::uint64_t i = 0; i < 10; ++i)
        node.send(a, probe(i));
    for (int i = 0; i < 3; ++i)
        node.step(a, 1);
    third.get_future().wait();
    node.stop(); // also ends what is paused
    BOOST_TEST(log.numbers.size() == 3u);
    BOOST_TEST(log.ended);
}

BOOST_FIXTURE_TEST_CASE(every_message_between_busy_actors_is_one_event, real_node) {
    constexpr std::uint32_t hops = 2000;
    probe_log other;
    std::promise<void> done;
    actor_address second;
    const auto bounce = [&done](actor_address to) {
        return [&done, to](probe_actor& self, proto::Probe::Reader body, const frame& f) {
            if (body.getHops() == 0)
                return done.set_value();
            self.send(to ? to : f.from(), probe(body.getNumber() + 1, body.getHops() - 1));
        };
    };
    second = node.spawn<probe_actor>("second", other, bounce({}));
    const auto first = node.spawn<probe_actor>("first", log, bounce(second));
    node.send(first, probe(0, hops));
    done.get_future().wait();
    node.stop();
    const trace_batch batch = node.trace().read(0, 1u << 14);
    BOOST_TEST(batch.lost == 0u);
    std::size_t probes = 0, uncaused = 0;
    for (const trace_event& e : batch.events)
        if (e.type == type_id_of<proto::Probe>()) {
            ++probes;
            uncaused += e.cause == 0 ? 1 : 0;
        }
    BOOST_TEST(probes == hops + 1);
    BOOST_TEST(uncaused == 1u); // the first, sent by nobody
}

BOOST_FIXTURE_TEST_CASE(timers_post_their_messages_in_order, real_node) {
    std::promise<void> done;
    const auto a = node.spawn<probe_actor>(
        "a", log, [&](probe_actor& self, proto::Probe::Reader body, const frame&) {
            if (body.getNumber() == 0) {
                self.after(200ms, probe(3)); // long enough for the lines below on a busy machine
                self.after(1ms, probe(1));
                self.after(1ms, probe(2));
                self.cancel(self.after(100ms, probe(9)));
            } else if (body.getNumber() == 3) {
                done.set_value();
            }
        });
    node.send(a, probe(0));
    done.get_future().wait();
    node.stop();
    BOOST_TEST(log.numbers == (std::vector<std::uint64_t>{0, 1, 2, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_timer_service_runs_callbacks_in_order_and_drops_what_is_cancelled_or_late) {
    std::promise<void> second;
    std::vector<int> fired; // by the service's thread until the promise is kept
    {
        thread_timers timers;
        timers.after(200ms, [&] {
            fired.push_back(2);
            second.set_value();
        });
        timers.after(0ms, [&] { fired.push_back(1); });
        const timer_id cancelled = timers.after(100ms, [&] { fired.push_back(0); });
        const timer_id late = timers.after(1h, [&] { fired.push_back(9); });
        timers.cancel(cancelled);
        second.get_future().wait();
        BOOST_TEST(!timers.cancel(cancelled));
        static_cast<void>(late);
    }
    BOOST_TEST(std::count(fired.begin(), fired.end(), 9) == 0);
    BOOST_TEST(fired.back() == 2);
}

BOOST_AUTO_TEST_CASE(a_node_does_not_end_while_a_device_reads_the_time) {
    slow_time time;
    thread_timers timers;
    probe_log log;
    std::promise<self_handle> given;
    node_runtime node{
        {.node = node_id{1}, .name = "a", .time = &time, .timers = &timers, .threads = 1}};
    const auto a = node.spawn<probe_actor>(
        "a", log, [&](probe_actor& self, proto::Probe::Reader body, const frame&) {
            if (body.getNumber() == 0)
                given.set_value(self.self_handle());
        });
    node.send(a, probe(0));
    const self_handle handle = given.get_future().get();
    std::thread device{[&] {
        time.slow_down_this_thread();
        handle.post(probe(1));
    }};
    time.reading.get_future().wait();
    // The owner of the time source may destroy it once the node has stopped: so it must not stop before that.
    std::promise<void> stopped;
    auto too_early = std::async(std::launch::async, [&, has_stopped = stopped.get_future()] {
        const bool early = has_stopped.wait_for(100ms) == std::future_status::ready;
        time.finish.set_value();
        return early;
    });
    node.stop();
    stopped.set_value();
    BOOST_TEST(!too_early.get());
    device.join();
    handle.post(probe(2)); // dropped
    BOOST_TEST(log.ended);
    BOOST_TEST(std::count(log.numbers.begin(), log.numbers.end(), 2u) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_node_stops_while_its_actors_talk, real_node) {
    std::promise<void> going;
    const auto forever = [&](probe_actor& self, proto::Probe::Reader body, const frame&) {
        if (body.getNumber() == 1000)
            going.set_value();
        self.send(self.self(), probe(body.getNumber() + 1));
    };
    const auto a = node.spawn<probe_actor>("a", log, forever);
    node.send(a, probe(0));
    going.get_future().wait();
    node.stop();
    BOOST_TEST(log.ended);
    BOOST_TEST(node.actors().empty());
}

BOOST_AUTO_TEST_CASE(a_node_can_be_stopped_while_the_thread_that_made_it_lives_on) {
    monotonic_time time;
    thread_timers timers;
    probe_log log;
    std::unique_ptr<node_runtime> node;
    std::promise<void> made, stopped;
    std::thread maker{[&] {
        node = std::make_unique<node_runtime>(
            node_options{.node = node_id{1}, .name = "a", .time = &time, .timers = &timers});
        node->spawn<probe_actor>("a", log);
        made.set_value();
        stopped.get_future().wait();
    }};
    made.get_future().wait();
    auto stopping = std::async(std::launch::async, [&] { node->stop(); });
    const bool has_stopped = stopping.wait_for(10s) == std::future_status::ready;
    stopped.set_value();
    maker.join();
    BOOST_TEST(has_stopped);
    BOOST_TEST(log.ended);
}

BOOST_AUTO_TEST_SUITE_END()

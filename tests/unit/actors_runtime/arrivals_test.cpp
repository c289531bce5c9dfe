// Frames of peers on real threads: the endpoint's thread and the workers run the same actors.
#include <boost/test/unit_test.hpp>

#include <array>
#include <future>
#include <latch>
#include <numeric>
#include <thread>

#include "tests/unit/actors_runtime/probe_actor.hpp"

using namespace troupe;

namespace {

constexpr node_id here{1}, there{2};

frame_ptr from_peer(actor_address to, std::uint64_t number) {
    auto builder = probe(number);
    builder.envelope().getFrom().setNode(there.value());
    builder.envelope().getFrom().setActor(16);
    builder.envelope().getTo().setNode(to.node.value());
    builder.envelope().getTo().setActor(to.actor.value());
    return std::move(builder).finish();
}

// Its only peer sends what the test says, and gets nothing.
class one_peer_endpoint final : public endpoint {
  public:
    // On a thread of the endpoint: reports the frames that `next` makes until it makes none, or close().
    void feed(std::function<frame_ptr()> next) {
        thread_ = std::thread{[this, next = std::move(next)] {
            while (!closed_) {
                frame_ptr f = next();
                if (!f)
                    return;
                listener_->frame_arrived(there, std::move(f));
            }
        }};
    }

    result<void> start(endpoint_listener& listener) override {
        listener_ = &listener;
        return {};
    }
    std::string address() const override { return "here"; }
    void connect(const std::string&) override {}
    send_status send(node_id, frame_ptr) override { return send_status::gone; }
    void disconnect(node_id, error) override {}
    void close() override {
        closed_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    endpoint_statistics statistics() const override { return {}; }

  private:
    endpoint_listener* listener_ = nullptr;
    std::atomic<bool> closed_{false};
    std::thread thread_;
};

// One frame from the peer becomes `each` messages to every one of the receivers: more actors than the endpoint's thread
// runs for one frame, and more messages than it hands to one of them.
struct fan {
    static constexpr std::size_t receivers = 20;
    static constexpr std::uint64_t each = 20;

    monotonic_time time;
    thread_timers timers;
    one_peer_endpoint network;
    probe_log fan_log;
    std::array<probe_log, receivers> logs;
    node_runtime node{{.node = here,
                       .name = "a",
                       .time = &time,
                       .timers = &timers,
                       .network = &network,
                       .threads = 2}};
    std::vector<actor_address> targets;

    actor_address spawn(
        std::function<void()> handled, std::function<void()> sent = [] {}) {
        for (probe_log& log : logs)
            targets.push_back(node.spawn<probe_actor>(
                "receiver", log, [handled](probe_actor&, auto, const frame&) { handled(); }));
        const auto spread = [this, sent](probe_actor& self, auto body, const frame&) {
            for (std::uint64_t i = 0; i < each; ++i)
                for (const actor_address target : targets)
                    self.send(target, probe(body.getNumber() * each + i));
            sent();
        };
        const actor_address address = node.spawn<probe_actor>("fan", fan_log, spread);
        BOOST_REQUIRE(node.start().ok());
        return address;
    }
};

// 0, 1, 2 and so on: nothing twice, nothing left out, nothing before its time.
bool counts_up(const std::vector<std::uint64_t>& numbers) {
    std::vector<std::uint64_t> expected(numbers.size());
    std::iota(expected.begin(), expected.end(), 0);
    return numbers == expected;
}

} // namespace

BOOST_AUTO_TEST_SUITE(arrivals)

BOOST_FIXTURE_TEST_CASE(what_a_frame_sets_off_is_handled_once_and_in_order, fan) {
    constexpr std::uint64_t frames = 50;
    std::latch all{receivers * each * frames};
    const actor_address first = spawn([&] { all.count_down(); });
    network.feed([first, n = std::uint64_t{0}]() mutable {
        return n < frames ? from_peer(first, n++) : nullptr;
    });
    all.wait();
    node.stop();
    BOOST_TEST(fan_log.numbers.size() == frames);
    BOOST_TEST(counts_up(fan_log.numbers));
    for (const probe_log& log : logs) {
        BOOST_TEST(log.numbers.size() == frames * each);
        BOOST_TEST(counts_up(log.numbers));
    }
}

BOOST_FIXTURE_TEST_CASE(a_node_stops_while_frames_arrive, fan) {
    std::promise<void> going;
    const actor_address first = spawn([] {},
                                      [&, sent = 0]() mutable {
                                          if (++sent == 20)
                                              going.set_value();
                                      });
    network.feed([first, n = std::uint64_t{0}]() mutable { return from_peer(first, n++); });
    going.get_future().wait();
    node.stop();
    BOOST_TEST(node.actors().empty());
    BOOST_TEST(fan_log.ended);
    BOOST_TEST(counts_up(fan_log.numbers));
    for (const probe_log& log : logs) {
        BOOST_TEST(log.ended);
        BOOST_TEST(counts_up(log.numbers));
    }
}

// How many of the frames to this actor, sent one by one, the endpoint's own thread runs.
std::size_t run_where_they_arrive(fan& f, actor_number number) {
    constexpr std::uint64_t frames = 200;
    std::promise<void> done;
    std::array<std::atomic<bool>, frames> handled{};
    std::atomic<std::thread::id> arriving;
    std::size_t same = 0;
    const actor_address actor = f.node.spawn_as<probe_actor>(
        number, "reader", f.fan_log, [&](probe_actor&, proto::Probe::Reader body, const frame&) {
            same += std::this_thread::get_id() == arriving.load() ? 1 : 0;
            handled[body.getNumber()] = true;
            handled[body.getNumber()].notify_one();
            if (body.getNumber() == frames - 1)
                done.set_value();
        });
    BOOST_REQUIRE(f.node.start().ok());
    f.network.feed([&, n = std::uint64_t{0}]() mutable -> frame_ptr {
        arriving = std::this_thread::get_id();
        if (n > 0)
            handled[n - 1].wait(false);
        return n < frames ? from_peer(actor, n++) : nullptr;
    });
    done.get_future().wait();
    f.node.stop();
    return same;
}

BOOST_FIXTURE_TEST_CASE(an_actor_runs_where_its_frame_arrives, fan) {
    BOOST_TEST(run_where_they_arrive(*this, well_known::agent) > 0u);
}

BOOST_FIXTURE_TEST_CASE(an_inspectors_questions_do_not_hold_up_what_arrives, fan) {
    BOOST_TEST(run_where_they_arrive(*this, well_known::inspector) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

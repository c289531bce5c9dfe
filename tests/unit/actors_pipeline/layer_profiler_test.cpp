#include <boost/test/unit_test.hpp>

#include "actors/messages.hpp"
#include "actors/pipeline/layer_profiler.hpp"
#include "actors/runtime/simulator.hpp"
#include "actors/training/plan/training_app.hpp"
#include "schemas/probe.capnp.h"
#include "tests/support/all_messages.hpp"
#include "tests/support/held_device.hpp"
#include "tests/support/pipeline_app.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

namespace {

struct answers {
    std::vector<std::size_t> measured; // layers
    std::vector<std::string> refused;
};

// Has the app's model measured by a profiler: once at the start, and at every Probe.
class asking_actor final : public actor {
  public:
    asking_actor(actor_context& context, answers& log, node_id of, const training_app& app,
                 std::string device = "held:0")
        : actor{context}, log_{log}, profiler_{of, well_known::profiler}, app_{app},
          device_{std::move(device)} {
        on<proto::Probe>(&asking_actor::again);
        on<proto::LayerTimes>(&asking_actor::measured);
        on<proto::ProfileFailed>(&asking_actor::refused);
    }

  private:
    void on_start() override { ask(); }
    void ask() {
        frame_builder<proto::ProfileModel> request;
        request.body().setDevice(device_);
        request.body().setBatch(2);
        request.body().setModel(app_.app().getModel());
        send(profiler_, std::move(request));
    }
    void again(proto::Probe::Reader, const frame&) { ask(); }
    void measured(proto::LayerTimes::Reader body, const frame&) {
        log_.measured.push_back(body.getNanoseconds().size());
    }
    void refused(proto::ProfileFailed::Reader body, const frame&) {
        log_.refused.push_back(read_failure(body.getFailure()).message());
    }

    answers& log_;
    const actor_address profiler_;
    const training_app& app_;
    const std::string device_;
};

// A node with a device, and two others.
struct measuring_node {
    const training_app app = parse_training(pipeline_app("gpipe", {6}, 1), "app.yaml").value();
    answers log, other; // outlive the actors
    const std::shared_ptr<held_device> compute = std::make_shared<held_device>();
    simulator sim{{.messages = all_messages()}};
    node_runtime& a = sim.add_node("a");
    node_runtime& b = sim.add_node("b", peer_role::client);
    node_runtime& c = sim.add_node("c", peer_role::client);

    measuring_node() {
        a.spawn_as<layer_profiler>(well_known::profiler, "profiler",
                                   std::vector<std::shared_ptr<device>>{compute});
        b.connect("sim:a");
        c.connect("sim:a");
        settle();
    }
    void settle() { sim.run_for(1s); }
    actor_address ask(node_runtime& from, answers& by) {
        const actor_address asking = from.spawn<asking_actor>("asking", by, a.node(), app);
        settle();
        return asking;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(layer_profilers)

BOOST_FIXTURE_TEST_CASE(a_node_has_one_measurement_under_way, measuring_node) {
    const actor_address asking = ask(b, log);
    BOOST_TEST(compute->tasks.size() == 1u);
    for (int i = 0; i < 3; ++i)
        b.send(asking, frame_builder<proto::Probe>{});
    settle();
    ask(b, log); // another actor of the node
    BOOST_TEST(compute->tasks.size() == 1u);
    BOOST_REQUIRE(log.refused.size() == 4u);
    BOOST_TEST(log.refused[0] ==
               "node a measures a model for node b already; wait until that has ended");
    ask(c, other);
    BOOST_TEST(compute->tasks.size() == 2u);
    BOOST_TEST(other.refused.empty());

    BOOST_TEST(compute->work().ok());
    settle();
    BOOST_TEST(log.measured == std::vector<std::size_t>{6}, boost::test_tools::per_element());
    b.send(asking, frame_builder<proto::Probe>{});
    settle();
    BOOST_TEST(compute->tasks.size() == 2u);
    BOOST_TEST(log.refused.size() == 4u);
}

BOOST_FIXTURE_TEST_CASE(a_measurement_is_given_up_when_its_asker_ends, measuring_node) {
    const actor_address asking = ask(b, log);
    b.end(asking, error{errc::cancelled, "by the user"});
    settle();
    BOOST_TEST((compute->work().failure().code() == errc::cancelled));
    settle();
    BOOST_TEST(a.statistics().frames_rejected == 0u); // nothing is sent to who is gone
    ask(b, log);
    BOOST_TEST(compute->work().ok());
    settle();
    BOOST_TEST(log.measured.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_measurement_is_given_up_when_its_askers_node_dies, measuring_node) {
    ask(b, log);
    ask(c, other);
    sim.kill(b);
    sim.run_for(5s);
    BOOST_TEST((compute->work().failure().code() == errc::cancelled));
    BOOST_TEST(compute->work().ok()); // the other node's
    settle();
    BOOST_TEST(other.measured.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_device_that_is_not_there_is_refused, measuring_node) {
    b.spawn<asking_actor>("asking", log, a.node(), app, "cpu:9");
    settle();
    BOOST_TEST(log.refused == std::vector<std::string>{"node a has no device 'cpu:9'"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include "actors/device/node_agent.hpp"
#include "actors/messages.hpp"
#include "actors/plan/app_file.hpp"
#include "actors/runtime/simulator.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/probe.capnp.h"
#include "tests/support/pipeline_app.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

namespace {

// Works when the test says so.
class held_device final : public device {
  public:
    void submit(device_task task) override { tasks.push_back(std::move(task)); }
    memory_pool& memory() noexcept override { return memory_; }
    const std::string& name() const noexcept override { return name_; }

    // What the first task's work came to.
    result<void> work() {
        device_task task = std::move(tasks.front());
        tasks.erase(tasks.begin());
        compute_context context{*operations_, memory_};
        const result<void> outcome = task.work(context);
        task.done(outcome, 1ms);
        return outcome;
    }

    std::vector<device_task> tasks;

  private:
    const std::string name_ = "held:0";
    memory_pool memory_{1u << 28};
    const std::unique_ptr<operations> operations_ = make_reference_operations();
};

struct answers {
    std::vector<std::size_t> measured; // layers
    std::vector<std::string> refused;
};

// Has the app's model measured by an agent: once at the start, and at every Probe.
class asking_actor final : public actor {
  public:
    asking_actor(actor_context& context, answers& log, node_id of, const app_definition& app)
        : actor{context}, log_{log}, agent_{of, well_known::agent}, app_{app} {
        on<proto::Probe>(&asking_actor::again);
        on<proto::LayerTimes>(&asking_actor::measured);
        on<proto::PlaceFailed>(&asking_actor::refused);
    }

  private:
    void on_start() override { ask(); }
    void ask() {
        frame_builder<proto::ProfileModel> request;
        request.body().setDevice("held:0");
        request.body().setBatch(2);
        request.body().setModel(app_.app().getModel());
        send(agent_, std::move(request));
    }
    void again(proto::Probe::Reader, const frame&) { ask(); }
    void measured(proto::LayerTimes::Reader body, const frame&) {
        log_.measured.push_back(body.getNanoseconds().size());
    }
    void refused(proto::PlaceFailed::Reader body, const frame&) {
        log_.refused.push_back(read_failure(body.getFailure()).message());
    }

    answers& log_;
    const actor_address agent_;
    const app_definition& app_;
};

// What a trainer says otherwise than it should.
struct trainer_script {
    std::function<void(proto::PlaceStage::Builder)> place = [](proto::PlaceStage::Builder) {};
    std::function<void(frame_builder<proto::ConnectStage>&)> connect =
        [](frame_builder<proto::ConnectStage>&) {};
};

// A trainer that refuses the weights of its only stage, as its own node does where they are too large to be sent.
class refusing_trainer final : public actor {
  public:
    refusing_trainer(actor_context& context, answers& log, node_id of, const app_definition& app,
                     trainer_script script = {})
        : actor{context}, log_{log}, agent_{of, well_known::agent}, app_{app},
          script_{std::move(script)} {
        on<proto::PlaceFailed>(&refusing_trainer::not_placed);
        on<proto::StagePlaced>(&refusing_trainer::placed);
        on<proto::StageReady>(&refusing_trainer::ready);
        on<proto::Snapshot>(&refusing_trainer::refuse);
        on<proto::StageFailed>(&refusing_trainer::failed);
    }

  private:
    void on_start() override {
        frame_builder<proto::PlaceStage> request;
        request.body().setStages(1);
        request.body().setLayers(6);
        request.body().setDevice("held:0");
        request.body().setModel(app_.app().getModel());
        request.body().setTrain(app_.app().getTrain());
        script_.place(request.body());
        send(agent_, std::move(request));
    }
    void not_placed(proto::PlaceFailed::Reader body, const frame&) {
        log_.refused.push_back(read_failure(body.getFailure()).message());
    }
    void placed(proto::StagePlaced::Reader body, const frame&) {
        frame_builder<proto::ConnectStage> request;
        write_address(request.body().initPrevious(1)[0], agent_); // anybody else
        write_address(request.body().initSource(), agent_);
        script_.connect(request);
        send(read_address(body.getAddress()), std::move(request));
    }
    void ready(proto::StageReady::Reader, const frame& f) {
        send(f.from(), frame_builder<proto::TakeSnapshot>{});
    }
    void refuse(proto::Snapshot::Reader, const frame&) { reject("too large"); }
    void failed(proto::StageFailed::Reader body, const frame&) {
        log_.refused.push_back(read_failure(body.getFailure()).message());
    }

    answers& log_;
    const actor_address agent_;
    const app_definition& app_;
    const trainer_script script_;
};

// A node with a device, and two others.
struct measuring_node {
    const app_definition app = parse_app(pipeline_app("gpipe", {6}, 1), "app.yaml").value();
    answers log, other; // outlive the actors
    const std::shared_ptr<held_device> compute = std::make_shared<held_device>();
    simulator sim{simulator_options{}};
    node_runtime& a = sim.add_node("a");
    node_runtime& b = sim.add_node("b", peer_role::client);
    node_runtime& c = sim.add_node("c", peer_role::client);

    measuring_node() {
        a.spawn_as<node_agent>(well_known::agent, "agent", node_agent_options{{compute}});
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

BOOST_AUTO_TEST_SUITE(node_agents)

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

BOOST_FIXTURE_TEST_CASE(a_stage_whose_trainer_refuses_its_weights_fails, measuring_node) {
    b.spawn<refusing_trainer>("trainer", log, a.node(), app);
    settle();
    BOOST_REQUIRE(compute->tasks.size() == 1u); // the first weights
    BOOST_TEST(compute->work().ok());
    settle();
    BOOST_REQUIRE(log.refused.size() == 1u);
    BOOST_TEST(log.refused[0] == "the trainer refused a message: too large");
}

BOOST_AUTO_TEST_CASE(a_restored_stage_wants_a_count_of_updates_for_each_parameter) {
    memory_pool memory{1u << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, memory};
    for (const unsigned counts : {0u, 5u, 6u, 7u}) {
        measuring_node n;
        const auto program = stage_program::whole(n.app.app().getModel()).value();
        const std::vector<tensor> first = program.initialise(context, 1, 1).value()->tensors();
        const auto restore = [&](frame_builder<proto::ConnectStage>& request) {
            request.body().setRestored(true);
            request.body().initUpdates(counts);
            for (const tensor& t : first)
                request.attach(t);
        };
        n.b.spawn<refusing_trainer>("trainer", n.log, n.a.node(), n.app,
                                    trainer_script{.connect = restore});
        n.settle();
        BOOST_REQUIRE(n.log.refused.size() == 1u);
        BOOST_TEST(n.log.refused[0] ==
                   (counts == 6 ? std::string{"the trainer refused a message: too large"}
                                : "the weights to start from: there are " + std::to_string(counts) +
                                      " counts of updates, this stage has 6 parameters"));
    }
}

BOOST_FIXTURE_TEST_CASE(a_rate_that_this_build_does_not_know_is_refused, measuring_node) {
    const auto place = [](proto::PlaceStage::Builder body) {
        body.setRate(static_cast<proto::StageRate>(2));
    };
    b.spawn<refusing_trainer>("trainer", log, a.node(), app, trainer_script{.place = place});
    settle();
    BOOST_REQUIRE(log.refused.size() == 1u);
    BOOST_TEST(log.refused[0] == "node a does not know this rate of a stage's replicas");
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

BOOST_AUTO_TEST_SUITE_END()

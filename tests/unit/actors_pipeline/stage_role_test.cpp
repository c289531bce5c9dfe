// What the role of a stage takes, and what a stage does that its trainer tells wrong things.
#include <boost/test/unit_test.hpp>

#include "actors/agent/node_agent.hpp"
#include "actors/messages.hpp"
#include "actors/training/roles/stage_role.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"
#include "tests/support/all_messages.hpp"
#include "tests/support/held_device.hpp"
#include "tests/support/puppet.hpp"
#include "tests/support/role_stage.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;
using options = proto::StageOptions::Builder;

namespace {

using answers = std::vector<std::string>; // why a stage has failed

// Names a companion beside the stage, and none beside other replicas.
void name_companion(frame_builder<proto::ConnectStage>& request, const char* role,
                    actor_address own) {
    auto companion = request.body().initCompanions(1)[0];
    companion.setRole(role);
    write_address(companion.initOwn(), own);
}

// A trainer that refuses the weights of its only stage, as its own node does where they are too large to be sent.
class refusing_trainer final : public actor {
  public:
    // What it says otherwise than it should.
    using change = std::function<void(frame_builder<proto::ConnectStage>&)>;

    refusing_trainer(
        actor_context& context, answers& log, node_id of, const training_app& app,
        change connect = [](frame_builder<proto::ConnectStage>&) {})
        : actor{context}, log_{log}, agent_{of, well_known::agent}, app_{app}, connect_{std::move(
                                                                                   connect)} {
        on<proto::Spawned>(&refusing_trainer::spawned);
        on<proto::StageReady>(&refusing_trainer::ready);
        on<proto::Snapshot>(&refusing_trainer::refuse);
        on<proto::StageFailed>(&refusing_trainer::failed);
    }

  private:
    void on_start() override {
        frame_builder<proto::Spawn> request;
        request.body().setRun(7);
        request.body().setRole("stage");
        request.body().setDevice("held:0");
        request.body().setOptionsType(type_id_of<proto::StageOptions>());
        auto stage = request.body().getOptions().initAs<proto::StageOptions>();
        stage.setStages(1);
        write_schedule(stage.initSchedule(), schedule_of_stage("gpipe", 0, 1));
        write_part(stage.initPart(), app_.app());
        send(agent_, std::move(request));
    }
    void spawned(proto::Spawned::Reader body, const frame&) {
        frame_builder<proto::ConnectStage> request;
        write_address(request.body().initPrevious(1)[0], agent_); // anybody else
        write_address(request.body().initSource(), agent_);
        connect_(request);
        send(read_address(body.getAddress()), std::move(request));
    }
    void ready(proto::StageReady::Reader, const frame& f) {
        send(f.from(), frame_builder<proto::TakeSnapshot>{});
    }
    void refuse(proto::Snapshot::Reader, const frame&) { reject("too large"); }
    void failed(proto::StageFailed::Reader body, const frame&) {
        log_.push_back(read_failure(body.getFailure()).message());
    }

    answers& log_;
    const actor_address agent_;
    const training_app& app_;
    const change connect_;
};

// A node with a device, and that of a trainer.
struct training_node {
    const training_app app;
    answers log; // outlives the actors
    const std::shared_ptr<held_device> compute = std::make_shared<held_device>();
    simulator sim{{.messages = all_messages()}};
    node_runtime& a = sim.add_node("a");
    node_runtime& b = sim.add_node("b", peer_role::client);

    explicit training_node(const std::string& topology = {}) : app{role_stage::make_app(topology)} {
        a.spawn_as<node_agent>(well_known::agent, "agent",
                               node_agent_options{.roles = {stage_role()}, .devices = {compute}});
        b.connect("sim:a");
        settle();
    }
    void settle() { sim.run_for(1s); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(stage_roles)

BOOST_FIXTURE_TEST_CASE(a_stage_whose_trainer_refuses_its_weights_fails, training_node) {
    b.spawn<refusing_trainer>("trainer", log, a.node(), app);
    settle();
    BOOST_REQUIRE(compute->tasks.size() == 1u); // the first weights
    BOOST_TEST(compute->work().ok());
    settle();
    BOOST_REQUIRE(log.size() == 1u);
    BOOST_TEST(log[0] == "the trainer refused a message: too large");
}

BOOST_AUTO_TEST_CASE(a_restored_stage_wants_a_count_of_updates_for_each_parameter) {
    memory_pool memory{1u << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, memory};
    for (const unsigned counts : {0u, 5u, 6u, 7u}) {
        training_node n;
        const auto program = stage_program::whole(n.app.app().getModel()).value();
        const std::vector<tensor> first = program.initialise(context, 1, 1).value()->tensors();
        const auto restore = [&](frame_builder<proto::ConnectStage>& request) {
            request.body().setRestored(true);
            request.body().initUpdates(counts);
            for (const tensor& t : first)
                request.attach(t);
        };
        n.b.spawn<refusing_trainer>("trainer", n.log, n.a.node(), n.app, restore);
        n.settle();
        BOOST_REQUIRE(n.log.size() == 1u);
        BOOST_TEST(n.log[0] ==
                   (counts == 6 ? std::string{"the trainer refused a message: too large"}
                                : "the weights to start from: there are " + std::to_string(counts) +
                                      " counts of updates, this stage has 6 parameters"));
    }
}

// What its replicas agree by is told when it is connected, and is what its options ask for, on its node.
BOOST_AUTO_TEST_CASE(a_stage_takes_no_other_actors_beside_it_than_it_has) {
    using builder = frame_builder<proto::ConnectStage>;
    const auto told = [](const std::string& topology,
                         const std::function<void(builder&, const training_node&)>& change) {
        training_node n{topology};
        n.b.spawn<refusing_trainer>("trainer", n.log, n.a.node(), n.app,
                                    [&](builder& request) { change(request, n); });
        n.settle();
        return n.log.empty() ? std::string{} : n.log[0];
    };
    const std::string server = "replicas: 2, sync: {parameter_server: {consistency: bsp}}, ";
    const auto beside = [](const char* role, bool is_elsewhere = false) {
        return [role, is_elsewhere](builder& request, const training_node& n) {
            name_companion(request, role, {(is_elsewhere ? n.b : n.a).node(), well_known::agent});
        };
    };
    const auto nothing = [](builder&, const training_node&) {};
    BOOST_TEST(told("", nothing) == "");
    BOOST_TEST(told("replicas: 2, sync: all_reduce, ", nothing) ==
               "there is no reducer beside this stage on its node");
    BOOST_TEST(told("replicas: 2, sync: gossip, ", nothing) ==
               "there is no peer beside this stage on its node");
    BOOST_TEST(told(server, nothing) == "there is no shard beside this stage on its node");
    BOOST_TEST(told(server, beside("shard")) == "there is no cache beside this stage on its node");
    BOOST_TEST(told("replicas: 2, sync: gossip, ", beside("peer", true)) ==
               "there is no peer beside this stage on its node");
    BOOST_TEST(told("", beside("peer")) == "this stage has no peer beside it, but is told of one");
    BOOST_TEST(told("", beside("cache")) ==
               "this stage has no cache beside it, but is told of one");
    BOOST_TEST(told("", beside("observer\n")) ==
               "a stage has no companion 'observer\\x0a' beside it, or is told of it twice");
}

// An actor of another run on the same node must not be drawn into this one.
BOOST_AUTO_TEST_CASE(a_stage_takes_no_actors_of_another_run_beside_it) {
    const auto told = [](const std::function<actor_address(training_node&)>& reducer) {
        training_node n{"replicas: 2, sync: all_reduce, "};
        const actor_address named = reducer(n);
        n.b.spawn<refusing_trainer>("trainer", n.log, n.a.node(), n.app,
                                    [&](frame_builder<proto::ConnectStage>& request) {
                                        name_companion(request, "reducer", named);
                                    });
        n.settle();
        return n.log.empty() ? std::string{} : n.log[0];
    };
    puppet_log log;
    const auto of_run = [&](std::uint64_t run) {
        return [&log, run](training_node& n) {
            return n.a.spawn_of_run<puppet_of<>>(run, "reducer", log);
        };
    };
    const std::string refusal = "the reducer named for this stage is not an actor of its run";
    BOOST_TEST(told(of_run(8)) == refusal);
    BOOST_TEST(told([](training_node& n) {
                   return actor_address{n.a.node(), well_known::agent};
               }) == refusal);
    // Of its own run: what is wrong next is that there is no other replica's.
    BOOST_TEST(told(of_run(7)) == "there is not one reducer for each replica");
    // One that has ended, perhaps: its loss is told to those who watch it.
    BOOST_TEST(told([](training_node& n) {
                   return actor_address{n.a.node(), actor_number{999}};
               }) == "there is not one reducer for each replica");
}

BOOST_AUTO_TEST_CASE(a_stage_is_named_by_its_number_and_of_several_by_its_replica) {
    role_stage alone, one_of_two{"replicas: 2, sync: all_reduce, "};
    const auto third = [](options o) {
        o.setStages(4);
        o.getPart().setStage(3);
        o.getSchedule().initPreviousBehind(1);
    };
    BOOST_TEST(alone.spawned<proto::StageOptions>(stage_role(), third) == "stage-3");
    BOOST_TEST(one_of_two.spawned<proto::StageOptions>(stage_role(), [&](options o) {
        third(o);
        o.getPart().setReplica(1);
    }) == "stage-3.1");
}

BOOST_AUTO_TEST_CASE(what_no_stage_can_be_is_refused_by_a_sentence) {
    const std::pair<std::function<void(options)>, std::string> bad[] = {
        {[](options o) { o.setStages(0); }, "there is no stage 0 of 0"},
        {[](options o) { o.setStages(257); }, "there is no stage 0 of 257"},
        {[](options o) { o.getPart().setStage(2); }, "there is no stage 2 of 2"},
        {[](options o) { o.getPart().setReplicas(0); }, "there is no worker 0 of 0 replicas"},
        {[](options o) { o.getPart().setReplicas(65); }, "there is no replica 0 of 65"},
        {[](options o) { o.getPart().setReplica(1); }, "there is no replica 1 of 1"},
        {[](options o) { o.initStageReplicas(1).set(0, 1); },
         "the stages cannot have so many replicas"},
        {[](options o) { o.initStageReplicas(2).set(0, 2); },
         "the stages cannot have so many replicas"},
        {[](options o) { o.initStageReplicas(2).set(0, 1); },
         "the stages cannot have so many replicas"},
        {[](options o) { o.setWorker(1); }, "there is no worker 1 of 1 replicas"},
        {[](options o) { o.getSchedule().initBody(0); }, "a stage's steps: row 1: 0F0 is missing"},
        {[](options o) {
             o.getSchedule().getBody()[0].setKind(static_cast<proto::StageStep::Kind>(7));
         },
         "a stage's schedule has a step of no known kind"},
        {[](options o) { o.getSchedule().initPreviousBehind(1); },
         "a stage's schedule says not how far the stage before is behind"},
        {[](options o) { o.setRate(static_cast<proto::StageRate>(2)); },
         "node a does not know this rate of a stage's replicas"},
        {[](options o) { o.setActivations(static_cast<proto::NumberForm>(9)); },
         "node a does not know this form of activations"},
        {[](options o) { o.getPart().setSlowDown(0.5f); },
         "a device cannot be slowed down 0.500000 times"},
        {[](options o) { o.getPart().setSlowDown(std::numeric_limits<float>::quiet_NaN()); },
         "a device cannot be slowed down nan times"},
        {[](options o) { o.getPart().getTrain().setBatch(0); },
         "train: batch must be 1 to 1048576, not 0"},
        {[](options o) { o.getPart().initSync().initGossip().setPeriod(0); },
         "sync: gossip: period must be 1 to 1000000000, not 0"},
        {[](options o) { o.getPart().setLayers(7); },
         "a stage of 7 layers from layer 0 on does not fit a model of 6 layers"},
        {[](options o) { o.getPart().setFirstLayer(~0u); },
         "a stage of 6 layers from layer 4294967295 on does not fit a model of 6 layers"},
        {[](options o) { o.getPart().setLayers(0); },
         "a stage of 0 layers from layer 0 on does not fit a model of 6 layers"},
    };
    role_stage on;
    for (const auto& [change, sentence] : bad) {
        const std::string refused = on.refusal<proto::StageOptions>(stage_role(), [&](options o) {
            o.setStages(2);
            change(o);
        });
        BOOST_TEST(refused == sentence);
    }
    BOOST_TEST(on.refusal<proto::StageOptions>(stage_role(), [](options o) { o.setStages(2); }) ==
               "");
}

BOOST_AUTO_TEST_SUITE_END()

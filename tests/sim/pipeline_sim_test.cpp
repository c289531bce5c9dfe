// The pipeline's equalities, with the actors that ship, under delay, reordering, loss and duplication.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <capnp/schema.h>

#include "actors/app_file/schema.hpp"
#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/pipeline/shape/schedule_message.hpp"
#include "actors/training/plan/training_app.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"
#include "tests/sim/pipeline_checks.hpp"
#include "tests/support/other_process.hpp"
#include "tests/support/stage_schedules.hpp"
#include "tests/unit/actors_runtime/probe_actor.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

// The schedules that app files name, without files.
std::vector<std::string> names_of_app_files() {
    std::vector<std::string> names;
    for (const auto field : capnp::Schema::from<proto::PipelineSchedule>().getUnionFields())
        if (field.getType().which() != capnp::schema::Type::TEXT) // a file
            names.push_back(app_file::snake_case(field.getProto().getName().cStr()));
    return names;
}

} // namespace

BOOST_AUTO_TEST_SUITE(pipelines_in_the_simulator)

BOOST_DATA_TEST_CASE(pipedream_is_bit_equal_to_the_delayed_version_equation,
                     bdata::xrange(cuts().size()), cut) {
    check_run("pipedream", cuts()[cut], calm, 1);
}

BOOST_DATA_TEST_CASE(gpipe_is_bit_equal_to_one_process_with_the_same_microbatches,
                     bdata::xrange(cuts().size()), cut) {
    check_run("gpipe", cuts()[cut], calm, 1);
}

BOOST_DATA_TEST_CASE(every_schedule_is_bit_equal_to_its_versions_and_sums_by_hand,
                     bdata::make(names_of_app_files()) * bdata::xrange(cuts().size()), name, cut) {
    if (devices_of(name, cuts()[cut].size()) > 0) // an odd number of stages does not fill some
        check_run(name, cuts()[cut], calm, 1);
}

BOOST_AUTO_TEST_CASE(every_optimizer_keeps_its_state_per_version) {
    for (const char* optimizer : {"sgd: {learning_rate: 0.05, momentum: 0.9, nesterov: true}",
                                  "adam: {learning_rate: 0.01}", "adadelta: {decay: 0.8}",
                                  "lamb: {learning_rate: 0.01, weight_decay: 0.1}"})
        check_run("pipedream", {1, 3, 2}, calm, 1, optimizer);
}

BOOST_AUTO_TEST_CASE(skip_connections_cross_stages) {
    const std::string first = "    - conv2d: {out: 4, kernel: 3, padding: 1}\n";
    const std::string blocks =
        "    - residual: {layers: [{conv2d: {out: 2, kernel: 3, padding: 1}}, gelu,"
        " {conv2d: {out: 1, kernel: 3, padding: 1}}]}\n"
        "    - concat: {branches: [{layers: [{conv2d: {out: 3, kernel: 1}}]}, {layers: []}]}\n";
    const std::vector<std::vector<std::size_t>> cuts_of_blocks = {
        {11}, {2, 9}, {1, 1, 1, 1, 1, 6}, {5, 3, 3}};
    for (const char* schedule : {"pipedream", "gpipe"})
        for (const auto& cut : cuts_of_blocks) {
            std::string text = pipeline_app(schedule, cut, 3);
            text.replace(text.find(first), first.size(), blocks);
            check_app(text, cut, calm, 1);
        }
}

BOOST_AUTO_TEST_CASE(running_averages_belong_to_the_version_of_the_weights) {
    const std::string relu = "    - relu\n";
    const std::vector<std::vector<std::size_t>> cuts_with_norms = {{8}, {2, 6}, {1, 1, 3, 3}};
    for (const char* schedule : {"pipedream", "gpipe"})
        for (const auto& cut : cuts_with_norms) {
            std::string text = pipeline_app(schedule, cut, 3);
            text.insert(text.rfind(relu), "    - batch_norm: {}\n");
            text.insert(text.find(relu), "    - batch_norm: {momentum: 0.3}\n");
            check_app(text, cut, calm, 1);
        }
}

// Of three classes one counts for nothing, so that microbatches count differently.
BOOST_AUTO_TEST_CASE(gradients_are_means_over_the_labels_that_count) {
    for (const char* schedule : {"pipedream", "gpipe"}) {
        std::string text = pipeline_app(schedule, {4, 2}, 3);
        text.insert(text.find("train:"),
                    "  loss: {cross_entropy: {label_smoothing: 0.1, ignored_label: 1}}\n");
        check_app(text, {4, 2}, calm, 1);
    }
}

BOOST_DATA_TEST_CASE(the_equalities_hold_under_delay_loss_duplication_and_reordering,
                     bdata::xrange(1, 25), seed) {
    const auto names = names_of_app_files();
    const std::string& name = names[static_cast<std::size_t>(seed) % names.size()];
    const auto& cut = cuts()[1 + seed % 4];
    // An even number of stages fills the devices of every schedule.
    check_run(name, devices_of(name, cut.size()) > 0 ? cut : cuts()[seed % 3 > 0 ? 3 : 4], storm,
              seed);
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_trace_and_another_seed_another) {
    const std::uint64_t first = stormy_trace_hash(11);
    BOOST_TEST(stormy_trace_hash(11) == first);
    BOOST_TEST(stormy_trace_hash(12) != first);
}

BOOST_AUTO_TEST_CASE(two_processes_with_the_same_seed_give_the_same_trace) {
    const std::string first = line_of(std::string{PIPELINE_HASH_PROGRAM} + " 11");
    BOOST_TEST(first.size() == 17u);
    BOOST_TEST(first == line_of(std::string{PIPELINE_HASH_PROGRAM} + " 11"));
}

BOOST_AUTO_TEST_CASE(an_automatic_cut_follows_the_modelled_times_of_the_layers) {
    // The convolution is most of the work at this rate; without times, the cut with the least traffic is another one.
    std::string text = pipeline_app("pipedream", {3, 3}, 1);
    text.replace(text.find("[{layers"), std::string::npos, "auto}}\n");
    pipeline_sim run{{.faults = calm, .nodes = 2, .app = text, .flops_per_second = 1e6}};
    run.train({});
    good_report(run);
    BOOST_REQUIRE(run.observer().planned_layers.size() == 2u);
    BOOST_TEST(run.observer().planned_layers[0] == 1u);
}

// As on a node that is stopped: the answers to the messages that it had not handled must not be taken for the cause.
BOOST_DATA_TEST_CASE(a_stage_that_ends_ends_the_run_with_its_reason, bdata::xrange(20), seed) {
    pipeline_sim run{{.seed = static_cast<std::uint64_t>(seed + 1),
                      .faults = storm,
                      .app = pipeline_app("pipedream", {3, 3}, 3)}};
    run.start({});
    run.sim().run_until([&] { return run.observer().progress.samples_done >= 24; },
                        std::chrono::minutes{5});
    const std::size_t s = static_cast<std::size_t>(seed) % 2;
    const std::string name = "node-" + std::to_string(s);
    node_runtime& node = run.node(s);
    const actor_address stage = *node.address_of("stage-" + std::to_string(s));
    BOOST_TEST_REQUIRE(node.pause(stage));
    run.sim().run_for(std::chrono::milliseconds{100});
    node.end(stage, error{errc::cancelled, name + " was stopped"});
    run.run_to_the_end();
    const error& failure = failure_of(run);
    BOOST_TEST((failure.code() == errc::lost));
    BOOST_TEST(failure.message().find(name + " was stopped") != std::string::npos,
               failure.message());
}

BOOST_AUTO_TEST_CASE(a_killed_node_ends_the_run_with_its_name) {
    pipeline_sim run{{.faults = calm, .nodes = 2, .app = pipeline_app("pipedream", {3, 3}, 100)}};
    run.start({});
    run.sim().run_until([&] { return run.observer().epochs.size() == 2; }, std::chrono::minutes{5});
    run.sim().kill(run.node(1));
    run.sim().run_until([&] { return run.observer().report.has_value(); }, std::chrono::seconds{5});
    BOOST_TEST((failure_of(run).code() == errc::lost));
    BOOST_TEST(failure_of(run).message().find("stage 1 on node-1/sim:0") != std::string::npos);
    // The survivor gives its stage up.
    run.sim().run_for(std::chrono::seconds{5});
    BOOST_TEST(!run.node(0).address_of("stage-0").has_value());
}

BOOST_AUTO_TEST_CASE(stages_end_when_the_node_of_their_trainer_dies) {
    pipeline_sim run{{.faults = calm, .nodes = 2, .app = pipeline_app("gpipe", {3, 3}, 100)}};
    run.start({});
    run.sim().run_until([&] { return run.observer().epochs.size() == 1; }, std::chrono::minutes{5});
    run.sim().kill(run.run_node());
    run.sim().run_for(std::chrono::seconds{5});
    BOOST_TEST(!run.node(0).address_of("stage-0").has_value());
    BOOST_TEST(!run.node(1).address_of("stage-1").has_value());
}

BOOST_AUTO_TEST_CASE(a_trainer_of_two_runs_is_watched_until_both_are_over) {
    const auto app = parse_training(pipeline_app("gpipe", {3, 3}, 1), "app.yaml").value();
    probe_log log; // outlives the actor
    pipeline_sim run{{.faults = calm, .nodes = 1, .app = pipeline_app("gpipe", {3, 3}, 1)}};
    const actor_address agent{run.node(0).node(), well_known::agent};
    // Asked by 0 and 1 to have that stage spawned, of a run of its own; by 2 to release the first run; by 3 to end.
    const auto trainer = run.run_node().spawn<probe_actor>(
        "trainer", log, [&](probe_actor& self, proto::Probe::Reader body, const frame&) {
            const auto number = static_cast<std::uint32_t>(body.getNumber());
            if (number == 3)
                return self.quit();
            if (number == 2)
                return self.send(agent, frame_builder<proto::Release>{}); // of run 0
            frame_builder<proto::Spawn> request;
            request.body().setRun(number);
            request.body().setRole("stage");
            request.body().setDevice("sim:0");
            request.body().setOptionsType(type_id_of<proto::StageOptions>());
            auto options = request.body().getOptions().initAs<proto::StageOptions>();
            options.setStages(2);
            write_schedule(options.initSchedule(), schedule_of_stage("gpipe", number, 2));
            options.getPart().setStage(number);
            options.getPart().setFirstLayer(3 * number);
            options.getPart().setLayers(3);
            options.getPart().setModel(app.app().getModel());
            options.getPart().setTrain(app.app().getTrain());
            self.send(agent, std::move(request));
        });
    const auto ask = [&](std::uint64_t number) {
        run.run_node().send(trainer, probe(number));
        run.sim().run_for(std::chrono::seconds{1});
    };
    ask(0);
    ask(1);
    ask(2);
    BOOST_TEST(!run.node(0).address_of("stage-0").has_value());
    BOOST_TEST(run.node(0).address_of("stage-1").has_value());
    ask(3);
    BOOST_TEST(!run.node(0).address_of("stage-1").has_value());
}

BOOST_DATA_TEST_CASE(a_stopped_run_goes_on_from_its_checkpoint_bit_by_bit,
                     bdata::xrange(cuts().size()), cut) {
    stop_and_resume(cuts()[cut], "schedule: {polynomial: {}}, warmup_minibatches: 15", 9, 18);
}

// The second stop comes when the checkpoint of the first stands in its place, but the trainer does not know it yet.
BOOST_AUTO_TEST_CASE(a_second_stop_does_not_deny_what_was_being_saved) {
    const temporary_folder folder;
    pipeline_sim run{{.faults = calm,
                      .nodes = 2,
                      .app = pipeline_app("pipedream", {3, 3}, 3) +
                             "checkpoint: {directory: unused, every_epochs: 3}\n"}};
    run.start(folder.path());
    const auto stop = [&](const std::function<bool()>& when) {
        run.sim().run_until(when, std::chrono::minutes{5});
        run.run_node().send(run.trainer_address(), frame_builder<proto::StopRun>{});
    };
    stop([&] { return run.observer().epochs.size() == 1; });
    stop([&] { return !list_checkpoints(folder.path()).value().empty(); });
    run.run_to_the_end();
    const std::string& sentence = failure_of(run).message();
    BOOST_TEST(sentence.find("stopped at once by a second signal; ") == 0u, sentence);
    BOOST_TEST(sentence.find("may or may not have been finished") != std::string::npos, sentence);
    BOOST_TEST(sentence.find("nothing was saved") == std::string::npos, sentence);
}

BOOST_AUTO_TEST_CASE(a_link_that_only_two_stages_lose_ends_the_run) {
    pipeline_sim run{{.faults = calm, .nodes = 2, .app = pipeline_app("pipedream", {3, 3}, 1000)}};
    run.start({});
    run.sim().run_until([&] { return run.observer().epochs.size() == 1; }, std::chrono::minutes{5});
    run.sim().partition(run.node(0), run.node(1));
    run.run_to_the_end();
    BOOST_TEST((failure_of(run).code() == errc::lost));
    const std::string& sentence = failure_of(run).message();
    BOOST_TEST(sentence.find("stage 0 on node-0/sim:0") != std::string::npos, sentence);
    BOOST_TEST(sentence.find("stage 1 on node-1/sim:0") != std::string::npos, sentence);
}

BOOST_AUTO_TEST_CASE(only_the_node_that_started_a_run_stops_it) {
    pipeline_sim run{{.faults = calm, .nodes = 2, .app = pipeline_app("pipedream", {3, 3}, 2)}};
    run.start({});
    run.sim().run_until([&] { return run.observer().epochs.size() == 1; }, std::chrono::minutes{5});
    run.node(0).send(run.trainer_address(), frame_builder<proto::StopRun>{});
    run.sim().run_until([&] { return run.run_node().statistics().frames_rejected > 0; },
                        std::chrono::minutes{5});
    BOOST_TEST(run.run_node().statistics().frames_rejected == 1u);
    BOOST_TEST(!run.observer().report.has_value()); // it was refused while the run went on
    run.run_to_the_end();
    BOOST_TEST(good_report(run).epochs.size() == 2u);
}

// What nobody in the run sends: from a stranger, to a stage in the middle of an epoch. It changes nothing.
BOOST_AUTO_TEST_CASE(messages_of_strangers_change_nothing) {
    const std::string text =
        pipeline_app("pipedream", {3, 3}, 2) + "checkpoint: {directory: unused}\n";
    const temporary_folder folder;
    pipeline_sim run{{.faults = calm, .nodes = 2, .app = text}};
    run.start(folder.path());
    run.sim().run_until([&] { return run.observer().epochs.size() == 1; }, std::chrono::minutes{5});
    for (std::size_t n = 0; n < 2; ++n) {
        const actor_address stage = *run.node(n).address_of("stage-" + std::to_string(n));
        run.run_node().send(stage, frame_builder<proto::ConnectStage>{});
        run.run_node().send(stage, frame_builder<proto::EpochBegin>{});
        run.run_node().send(stage, frame_builder<proto::Activation>{});
        run.run_node().send(stage, frame_builder<proto::Gradient>{});
        run.run_node().send(stage, frame_builder<proto::PartialNorm>{});
        run.run_node().send(stage, frame_builder<proto::GlobalNorm>{});
        run.run_node().send(stage, frame_builder<proto::Labels>{});
        run.run_node().send(stage, frame_builder<proto::EndOfData>{});
        run.run_node().send(stage, frame_builder<proto::EvaluationBatch>{});
        run.run_node().send(stage, frame_builder<proto::EvaluationLabels>{});
        run.run_node().send(stage, frame_builder<proto::EndOfEvaluation>{});
        run.run_node().send(stage, frame_builder<proto::TakeSnapshot>{});
        run.run_node().send(actor_address{run.node(n).node(), well_known::agent},
                            frame_builder<proto::Spawn>{});
        run.run_node().send(actor_address{run.node(n).node(), well_known::agent},
                            frame_builder<proto::EndActors>{});
        run.run_node().send(actor_address{run.node(n).node(), well_known::profiler},
                            frame_builder<proto::ProfileModel>{});
        run.run_node().send(actor_address{run.node(n).node(), well_known::agent},
                            frame_builder<proto::Release>{});
    }
    run.run_node().send(run.trainer_address(), frame_builder<proto::Spawned>{});
    run.run_node().send(run.trainer_address(), frame_builder<proto::StageEpochDone>{});
    run.run_node().send(run.trainer_address(), frame_builder<proto::Snapshot>{});
    run.run_node().send(run.trainer_address(), frame_builder<proto::StageFailed>{});
    frame_builder<proto::SpawnFailed> failed;
    failed.body().setRun(77); // the run's own number
    failed.body().setRequest(1);
    run.run_node().send(run.trainer_address(), std::move(failed));
    frame_builder<proto::ProfileFailed> not_measured;
    not_measured.body().setRun(77);
    run.run_node().send(run.trainer_address(), std::move(not_measured));
    run.run_node().send(run.trainer_address(), frame_builder<proto::Rejected>{});
    const actor_address source = *run.run_node().address_of("data-source");
    run.run_node().send(source, frame_builder<proto::Rejected>{});
    run.run_node().send(source, frame_builder<proto::RunEpoch>{});
    run.run_node().send(source, frame_builder<proto::RunEvaluation>{});
    run.run_node().send(source, frame_builder<proto::StopData>{});
    run.run_to_the_end();
    good_report(run);
    check_saved(run, folder.path(), {.layers = {3, 3}, .delayed = true});
}

BOOST_AUTO_TEST_SUITE_END()

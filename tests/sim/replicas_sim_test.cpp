// Data parallelism with the actors that ship: what replicas agree on, and that no delay, loss or order changes it.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "actors/agent/node_agent.hpp"
#include "actors/training/plan/training_app.hpp"
#include "actors/training/roles/training_roles.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/collective.capnp.h"
#include "tests/sim/replicas_sim.hpp"
#include "tests/support/held_device.hpp"
#include "tests/support/seeds.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

// A model of more than a megabyte.
std::string large(std::uint32_t replicas, std::uint32_t batch, std::uint32_t microbatches,
                  const std::string& sync = "all_reduce") {
    std::string text = text_of({.replicas = replicas,
                                .sync = sync,
                                .samples = 32,
                                .batch = batch,
                                .microbatches = microbatches,
                                .norm = "    - batch_norm\n"});
    replace(text, "layers: 6", "layers: 7");
    replace(text, "linear: {out: 12}", "linear: {out: 8000}");
    return text;
}

struct outcome {
    saved_tensors weights;
    std::size_t handed_over; // messages, during backward passes
};
outcome run_it(const std::string& text, const sim_faults& faults) {
    const temporary_folder folder;
    pipeline_sim run{{.seed = 3, .faults = faults, .nodes = 3, .app = text}};
    run.train(folder.path());
    good_report(run);
    const auto events = run.node(0).trace().read(0, 1u << 16).events;
    const auto handed = std::ranges::count_if(
        events, [](const trace_event& e) { return e.type == type_id_of<proto::GradientsReady>(); });
    return {saved_in(folder.path()), static_cast<std::size_t>(handed)};
}

} // namespace

BOOST_AUTO_TEST_SUITE(replicas_in_the_simulator)

// Gradients of two are summed in either order with the same bits.
BOOST_DATA_TEST_CASE(two_replicas_are_bit_equal_to_one_with_two_microbatches_of_a_batch_as_large,
                     bdata::make(algorithms()), algorithm) {
    const auto replicated = train({.sync = all_reduce_by(algorithm)});
    const auto alone = train({.replicas = 1, .batch = 16, .microbatches = 2});
    BOOST_TEST((replicated.weights == alone.weights));
    BOOST_TEST(replicated.report.stages.size() == 2u);
    for (const stage_report& stage : replicated.report.stages)
        BOOST_TEST(stage.weight_version == 10u);
}

// 70 samples leave an epoch's last round a minibatch short, and the warm-up ends in the middle of a round.
BOOST_AUTO_TEST_CASE(replicas_have_the_learning_rates_of_one_device_with_all_their_samples) {
    for (const char* schedule : {"{cosine: {}}", "{polynomial: {final_factor: 0.1}}",
                                 "{step: {every_epochs: 1, factor: 0.3}}"})
        for (const char* sync : {"all_reduce", "{parameter_server: {consistency: bsp}}"}) {
            const auto rates = [&](const char* warmup) {
                return "schedule: " + std::string{schedule} + ", warmup_minibatches: " + warmup;
            };
            const auto replicated =
                train({.sync = sync, .samples = 70, .batch = 4, .more = rates("5")});
            const auto alone =
                train({.replicas = 1, .samples = 70, .batch = 8, .more = rates("3")});
            BOOST_TEST(farthest(replicated.weights, alone.weights) < 1e-6);
        }
}

BOOST_DATA_TEST_CASE(the_sum_over_replicas_is_the_gradient_of_one_minibatch_of_all_their_samples,
                     bdata::make({2u, 3u, 4u, 5u, 7u}) * bdata::make(algorithms()), replicas,
                     algorithm) {
    // 70 samples leave a last round with fewer minibatches, one of them short; of 7 replicas some have one minibatch less.
    const auto replicated =
        train({.replicas = replicas, .sync = all_reduce_by(algorithm), .samples = 70, .batch = 4});
    const auto alone = train({.replicas = 1, .samples = 70, .batch = 4 * replicas});
    BOOST_TEST(farthest(replicated.weights, alone.weights) < 2e-6);
    BOOST_TEST(std::abs(replicated.report.epochs.back().train_loss -
                        alone.report.epochs.back().train_loss) < 1e-6);
}

BOOST_AUTO_TEST_CASE(an_epoch_of_fewer_minibatches_than_replicas_is_one_update) {
    const auto replicated = train({.replicas = 5, .samples = 20});
    const auto alone = train({.replicas = 1, .samples = 20, .batch = 40});
    BOOST_TEST(farthest(replicated.weights, alone.weights) < 1e-6);
    BOOST_TEST(replicated.report.stages[4].weight_version == 2u);
}

// The second stage of the second cut has no parameters: its replicas have nothing to agree on.
const std::vector<std::size_t> three_stages[] = {{1, 3, 2}, {1, 2, 3}};

BOOST_AUTO_TEST_CASE(stages_and_replicas_compose) {
    for (const char* sync : {"all_reduce", "{local_sgd: {period: 2}}"}) {
        const auto whole = train({.sync = sync, .samples = 70, .microbatches = 3});
        for (const std::vector<std::size_t>& layers : three_stages) {
            const auto cut =
                train({.layers = layers, .sync = sync, .samples = 70, .microbatches = 3});
            BOOST_TEST((cut.weights == whole.weights));
        }
    }
    for (const char* schedule : {"one_f_one_b", "zero_bubble"}) {
        const replicas_app two{
            .schedule = schedule, .layers = {1, 3, 2}, .samples = 70, .microbatches = 3};
        replicas_app one = two;
        one.replicas = 1;
        one.batch = 2 * two.batch;
        BOOST_TEST(farthest(train(two).weights, train(one).weights) < 2e-6);
        BOOST_TEST((train(two).weights == train(two, storm, 2).weights));
    }
    for (const char* schedule : {"interleaved", "zero_bubble_v"}) {
        const replicas_app two{
            .schedule = schedule, .layers = {1, 2, 1, 2}, .samples = 70, .microbatches = 3};
        replicas_app one = two;
        one.replicas = 1;
        one.batch = 2 * two.batch;
        BOOST_TEST(farthest(train(two).weights, train(one).weights) < 2e-6);
        BOOST_TEST((train(two).weights == train(two, storm, 2).weights));
    }
    // Late by a stage, and the others of a round with it.
    const auto late = train({.schedule = "pipedream", .layers = {3, 3}});
    const auto alone =
        train({.schedule = "pipedream", .layers = {3, 3}, .replicas = 1, .batch = 16});
    BOOST_TEST(farthest(late.weights, alone.weights) < 2e-6);
    BOOST_TEST(late.report.stages[2].lags == late.report.stages[0].lags);
    const replicas_app three{.schedule = "pipedream", .layers = {1, 2, 3}, .samples = 70};
    BOOST_TEST((train(three).weights == train(three, storm, 2).weights));
}

BOOST_DATA_TEST_CASE(delay_loss_duplication_and_order_change_no_bit, bdata::xrange(1, 17), seed) {
    const std::string& algorithm =
        algorithms()[static_cast<std::size_t>(seed) % algorithms().size()];
    const char* const schedules[] = {"pipedream",   "gpipe",        "one_f_one_b",
                                     "zero_bubble", "two_versions", "local_accumulation"};
    const replicas_app app{
        .schedule = schedules[static_cast<std::size_t>(seed) % (seed % 5 ? 6 : 4)],
        .layers = seed % 3 ? std::vector<std::size_t>{2, 4} : std::vector<std::size_t>{6},
        .replicas = 2u + static_cast<std::uint32_t>(seed) % 3,
        .sync = seed % 5 ? all_reduce_by(algorithm)
                         : "{local_sgd: {period: 3, algorithm: " + algorithm + "}}",
        .samples = 70,
        .norm = seed % 4 ? "" : "    - batch_norm\n"};
    replicas_app normed = app;
    if (!app.norm.empty())
        normed.layers.back() += 1;
    const auto first = train(normed);
    const auto second = train(normed, storm, static_cast<std::uint64_t>(seed));
    BOOST_TEST((first.weights == second.weights));
}

// Small runs of every algorithm, schedule and number of replicas; what a calm network gives, each storm must give.
BOOST_AUTO_TEST_CASE(no_storm_of_a_thousand_changes_a_bit, *seeded) {
    std::map<std::string, saved_tensors> calm_weights;
    for (const std::uint64_t seed : seed_range{1000, 1000}) {
        const std::string& algorithm = algorithms()[seed % algorithms().size()];
        const bool cut = seed % 7 == 0;
        const replicas_app app{
            .schedule = seed % 2 ? "pipedream" : "gpipe",
            .layers = cut ? std::vector<std::size_t>{2, 4} : std::vector<std::size_t>{6},
            .replicas = cut ? 2 : 2u + static_cast<std::uint32_t>(seed / 11 % 4),
            .sync = seed % 3 ? all_reduce_by(algorithm)
                             : "{local_sgd: {period: 2, algorithm: " + algorithm + "}}",
            .samples = 14, // of five replicas one has none of the last round
            .batch = 2};
        const std::string text = text_of(app);
        if (!calm_weights.contains(text))
            calm_weights[text] = train(app).weights;
        BOOST_TEST((train(app, storm, seed).weights == calm_weights[text]));
    }
}

// A model of more than a megabyte: its last layers' gradients are summed while those of the first are computed.
BOOST_AUTO_TEST_CASE(gradients_that_go_before_the_backward_pass_ends_change_no_bit) {
    const outcome calm_run = run_it(large(2, 8, 1), calm);
    BOOST_TEST(calm_run.handed_over == 2u * 2); // updates of an epoch, twice
    BOOST_TEST((run_it(large(2, 8, 1), storm).weights == calm_run.weights));
    const outcome of_microbatches = run_it(large(3, 8, 2), calm);
    BOOST_TEST(of_microbatches.handed_over > 0u);
    BOOST_TEST((run_it(large(3, 8, 2), storm).weights == of_microbatches.weights));
    // Without batch_norm, whose statistics are of what is computed at once, it is one model with microbatches.
    std::string plain = large(2, 8, 1);
    replace(plain, "    - batch_norm\n", "");
    replace(plain, "layers: 7", "layers: 6");
    std::string alone = text_of({.replicas = 1, .samples = 32, .batch = 16, .microbatches = 2});
    replace(alone, "linear: {out: 12}", "linear: {out: 8000}");
    BOOST_TEST((run_it(plain, calm).weights == run_it(alone, calm).weights));
}

BOOST_AUTO_TEST_CASE(compressed_gradients_go_before_the_backward_pass_ends_and_change_no_bit) {
    for (const auto& [codec, microbatches] :
         {std::pair{"bf16", 1u}, std::pair{"one_bit", 1u}, std::pair{"sufficient_factors", 2u}}) {
        const std::string text =
            large(2, 8, microbatches, "{all_reduce: {}, codec: " + std::string{codec} + "}");
        const outcome calm_run = run_it(text, calm);
        BOOST_TEST(calm_run.handed_over > 0u, codec);
        BOOST_TEST((run_it(text, storm).weights == calm_run.weights), codec);
    }
    const std::string named = large(2, 8, 1, "{all_reduce: {algorithm: ring}, codec: bf16}");
    const outcome rounded = run_it(named, calm); // summed in 16 bits
    BOOST_TEST(rounded.handed_over > 0u);
    BOOST_TEST((run_it(named, storm).weights == rounded.weights));
    BOOST_TEST((run_it(large(2, 8, 1, "{all_reduce: {}, codec: bf16}"), calm).weights !=
                rounded.weights)); // gathered
}

BOOST_AUTO_TEST_CASE(gradients_are_clipped_by_the_norm_of_their_sum) {
    for (const std::vector<std::size_t>& layers :
         {std::vector<std::size_t>{6}, {2, 4}, {1, 2, 3}}) {
        const auto replicated = train({.layers = layers, .more = "clip: {norm: 0.3}"});
        const auto alone = train({.layers = layers,
                                  .replicas = 1,
                                  .batch = 16,
                                  .microbatches = 2,
                                  .more = "clip: {norm: 0.3}"});
        BOOST_TEST((replicated.weights == alone.weights));
    }
}

// Without momentum, the mean of weights that have each made a step is a step by the mean gradient.
BOOST_AUTO_TEST_CASE(local_sgd_with_a_mean_after_every_update_is_all_reduce) {
    const std::string plain = "sgd: {learning_rate: 0.05}";
    const auto local = train(
        {.replicas = 4, .sync = "{local_sgd: {period: 1}}", .samples = 64, .optimizer = plain});
    const auto summed = train({.replicas = 4, .samples = 64, .optimizer = plain});
    BOOST_TEST(farthest(local.weights, summed.weights) < 2e-6);
}

BOOST_AUTO_TEST_CASE(local_sgd_of_one_mean_per_epoch_is_the_mean_of_runs_on_their_own) {
    // Of nine minibatches the first replica takes five, the last of them short.
    std::string text = text_of({.sync = "{local_sgd: {period: 1000}}",
                                .samples = 70,
                                .more = "schedule: {cosine: {}}, warmup_minibatches: 2"});
    replace(text, "epochs: 2", "epochs: 1");
    const temporary_folder folder;
    pipeline_sim run{{.faults = calm, .nodes = 2, .app = text}};
    run.train(folder.path());
    good_report(run);
    const auto saved = saved_in(folder.path());
    const auto first = run.sequential({.layers = {6}, .share = {0, 2}})[0];
    const auto second = run.sequential({.layers = {6}, .share = {1, 2}})[0];
    const auto program = stage_program::create(run.app().app().getModel(), {0, 6}).value();
    for (std::size_t p = 0; p < program.parameters().size(); ++p) {
        const auto one = first->parameters[p].values<float>();
        const auto two = second->parameters[p].values<float>();
        std::vector<float> mean;
        for (std::size_t i = 0; i < one.size(); ++i)
            mean.push_back(0.5f * (one[i] + two[i]));
        BOOST_TEST(saved.at(program.parameters()[p].name) == mean,
                   boost::test_tools::per_element());
        BOOST_TEST(!std::ranges::equal(one, two));
    }
}

BOOST_AUTO_TEST_CASE(a_killed_node_ends_the_run_with_its_replica) {
    replicas_app a{.samples = 8000};
    pipeline_sim run{{.faults = calm, .nodes = 2, .app = text_of(a)}};
    run.start({});
    run.sim().run_until([&] { return run.observer().progress.samples_done >= 800; },
                        std::chrono::minutes{5});
    run.sim().kill(run.node(1));
    run.sim().run_until([&] { return run.observer().report.has_value(); }, std::chrono::seconds{5});
    const error& failure = failure_of(run);
    BOOST_TEST((failure.code() == errc::lost));
    BOOST_TEST(failure.message().find("stage 0 of replica 1 on node-1/sim:0") != std::string::npos,
               failure.message());
    run.sim().run_for(std::chrono::seconds{5});
    BOOST_TEST(!run.node(0).address_of("stage-0.0").has_value());
    BOOST_TEST(!run.node(0).address_of("reducer-0.0").has_value());
}

BOOST_AUTO_TEST_CASE(a_stopped_run_goes_on_from_its_checkpoint_as_if_it_had_not_been) {
    for (const char* schedule : {"constant", "{cosine: {}}"})
        check_stop_and_resume({.replicas = 3,
                               .samples = 70,
                               .batch = 4,
                               .more = "schedule: " + std::string{schedule}});
}

// An agent that has no devices, or no such role; the others have carried out what they were asked for.
BOOST_AUTO_TEST_CASE(a_run_whose_actors_cannot_all_be_spawned_leaves_none_behind) {
    std::vector<role> stages_alone;
    for (const role& r : training_roles())
        if (r.name == "stage")
            stages_alone.push_back(r);
    for (const bool has_device : {false, true}) {
        pipeline_sim run{
            {.faults = calm,
             .nodes = 2,
             .app = text_of({.layers = {6}}),
             .last_agent = [&](node_runtime& node) {
                 node_agent_options options{.roles = has_device ? stages_alone : training_roles()};
                 if (has_device)
                     options.devices = {std::make_shared<held_device>("sim:0")};
                 node.spawn_as<node_agent>(well_known::agent, "agent", std::move(options));
             }}};
        run.train({});
        BOOST_TEST(failure_of(run).message() ==
                   (has_device ? "node node-1 has no role 'reducer', it has stage"
                               : "node node-1 has no device 'sim:0'"));
        run.sim().run_for(std::chrono::seconds{5});
        for (std::size_t n = 0; n < 2; ++n)
            for (const actor_status& actor : run.node(n).actors())
                BOOST_TEST(actor.address.actor < well_known::first_free, actor.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()

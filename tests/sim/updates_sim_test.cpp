// What an update is made with, by pipelines and by the sequential program: its learning rate, its gradients, its samples.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "tests/sim/pipeline_checks.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(updates_in_the_simulator)

BOOST_AUTO_TEST_CASE(every_update_has_the_rate_of_its_place_in_the_run) {
    for (const char* schedule :
         {"schedule: {step: {every_epochs: 1, factor: 0.5}}", "schedule: {cosine: {}}",
          "schedule: {polynomial: {power: 2}}, warmup_minibatches: 12",
          "schedule: {step: {every_epochs: 1, factor: 0.5}}, warmup_minibatches: 5"})
        for (const char* order : {"pipedream", "gpipe"})
            check_run(order, {1, 3, 2}, calm, 1, default_optimizer, schedule);
}

BOOST_DATA_TEST_CASE(gradients_are_clipped_by_the_norm_over_all_stages_or_of_each,
                     bdata::make({"gpipe", "pipedream", "zero_bubble", "two_versions"}) *
                         bdata::xrange(cuts().size()),
                     schedule, cut) {
    check_run(schedule, cuts()[cut], calm, 1, default_optimizer, "clip: {norm: 0.3}");
    check_run(schedule, cuts()[cut], storm, 2, default_optimizer, "clip: {norm: 0.3}");
}

// 70 samples in minibatches of 8, 16 and 20.
BOOST_DATA_TEST_CASE(minibatches_that_grow_are_those_of_the_sequential_program,
                     bdata::make({"gpipe", "pipedream", "zero_bubble", "two_versions"}) *
                         bdata::xrange(cuts().size()),
                     schedule, cut) {
    const temporary_folder folder;
    const auto& layers = cuts()[cut];
    const std::string text = pipeline_app(schedule, layers, 3, default_optimizer,
                                          "batch_growth: {every_epochs: 1, maximum: 20}, "
                                          "schedule: {polynomial: {}}, warmup_minibatches: 12") +
                             "checkpoint: {directory: unused}\n";
    pipeline_sim run{{.faults = calm, .nodes = layers.size(), .app = text}};
    run.train(folder.path());
    const run_report& report = good_report(run);
    BOOST_TEST(report.stages[0].weight_version == 9u + 5u + 4u);
    BOOST_TEST(report.epochs.back().samples == 70u);
    check_saved(run, folder.path(), as_scheduled(schedule, layers));
}

BOOST_AUTO_TEST_CASE(gradients_are_clipped_by_value) {
    check_run("gpipe", {1, 3, 2}, calm, 1, default_optimizer, "clip: {value: 0.01}");
    check_run("pipedream", {1, 3, 2}, calm, 1, default_optimizer, "clip: {value: 0.01}");
}

BOOST_AUTO_TEST_CASE(a_norm_over_all_stages_has_the_same_bits_in_any_cut) {
    const auto trained = [](const std::vector<std::size_t>& layers, const std::string& more) {
        const temporary_folder folder;
        pipeline_sim run{{.faults = calm,
                          .nodes = layers.size(),
                          .app = pipeline_app("gpipe", layers, 1, default_optimizer, more) +
                                 "checkpoint: {directory: unused}\n"}};
        run.train(folder.path());
        return load_checkpoint(list_checkpoints(folder.path()).value().back()).value();
    };
    const auto same = [](const loaded_checkpoint& a, const loaded_checkpoint& b) {
        return std::ranges::equal(a.find("layers.0.weight")->bytes,
                                  b.find("layers.0.weight")->bytes);
    };
    const std::string clip = "clip: {norm: 0.3}";
    const loaded_checkpoint whole = trained({6}, clip);
    for (std::size_t cut = 1; cut < cuts().size(); ++cut)
        BOOST_TEST(same(trained(cuts()[cut], clip), whole));
    BOOST_TEST(!same(trained({6}, ""), whole));
}

BOOST_DATA_TEST_CASE(a_run_whose_minibatches_grow_goes_on_in_the_middle_of_an_epoch,
                     bdata::xrange(2), cut) {
    stop_and_resume(cuts()[cut], "batch_growth: {every_epochs: 1, maximum: 12}", 9, 15);
}

BOOST_AUTO_TEST_SUITE_END()

// What a pipeline is fed with is what one loop over the data set would take.
#include <boost/test/unit_test.hpp>

#include "tests/sim/pipeline_checks.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(data_in_the_simulator)

BOOST_AUTO_TEST_CASE(training_images_are_transformed_anew_every_epoch) {
    std::string text = pipeline_app("pipedream", {3, 3}, 3);
    const std::string classes = "classes: 3}";
    text.insert(text.find(classes) + classes.size(),
                ", images: {mean: [0.5], deviation: [0.25], crop_padding: 1, flip: true}");
    const temporary_folder folder;
    pipeline_sim run{{.faults = storm, .app = text + "checkpoint: {directory: unused}\n"}};
    run.train(folder.path());
    BOOST_REQUIRE(run.observer().report.has_value());
    check_saved(run, folder.path(), {.layers = {3, 3}, .delayed = true});
}

BOOST_AUTO_TEST_SUITE_END()

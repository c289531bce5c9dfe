// What an app file may say of replicas that update on their own, and what does not go together.
#include <boost/test/unit_test.hpp>

#include "actors/training/plan/training_app.hpp"

using namespace troupe;

namespace {

// Of an app with three replicas: "accepted", or what is wrong, from the key on.
std::string peers(const std::string& sync, const std::string& pipeline) {
    const auto parsed = parse_training(
        "troupe: 1\ndata: {synthetic: {}}\nmodel: {input: [4], layers: [relu, {linear: {out: "
        "10}}]}\n"
        "train: {batch: 16, optimizer: {sgd: {learning_rate: 0.1}}}\ntopology: {replicas: 3, " +
            pipeline + ", sync: " + sync + "}\n",
        "app.yaml", {});
    if (parsed.ok())
        return "accepted";
    const std::string& message = parsed.failure().message();
    const auto at = message.find("topology.");
    return at == std::string::npos ? message : message.substr(at);
}

const char* const of_several_stages[] = {"pipeline: {schedule: gpipe}",
                                         "pipeline: {schedule: pipedream, stages: 2}",
                                         "pipeline: {stages: [{layers: 1}, {layers: 1}]}"};
const char* const of_one_stage[] = {"single: null", "pipeline: {stages: 1}",
                                    "pipeline: {stages: [{layers: 2}]}"};

} // namespace

BOOST_AUTO_TEST_SUITE(peers_in_app_files)

BOOST_AUTO_TEST_CASE(asynchronous_admm_is_refused_in_a_pipeline_of_several_stages) {
    for (const char* pipeline : of_several_stages)
        for (const char* sync : {"admm", "{admm: {quorum: 2}}", "{admm: {quorum: 2, delay: 2}}"})
            BOOST_TEST(peers(sync, pipeline) ==
                       "topology.sync.admm: does not go with a pipeline, whose stages would come "
                       "to wait for each other in a ring; make it synchronous by quorum: 3 or "
                       "delay: 1, or use a single stage");
}

BOOST_AUTO_TEST_CASE(synchronous_admm_goes_with_every_pipeline_and_asynchronous_with_one_stage) {
    for (const char* pipeline : of_several_stages)
        for (const char* sync : {"{admm: {quorum: 3}}", "{admm: {quorum: 2, delay: 1}}"})
            BOOST_TEST(peers(sync, pipeline) == "accepted");
    for (const char* pipeline : of_one_stage)
        BOOST_TEST(peers("{admm: {quorum: 2, delay: 3}}", pipeline) == "accepted");
}

BOOST_AUTO_TEST_SUITE_END()

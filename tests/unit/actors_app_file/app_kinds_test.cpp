// App files of several kinds of jobs.
#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>

#include "actors/training/plan/training_app.hpp"
#include "tests/counter/counter.hpp"

using namespace troupe;

namespace {

const std::vector<app_kind> kinds{training_kind(), counter::counter_job().app};

std::string why_not(const std::string& text, const app_settings& settings = {}) {
    const auto app = parse_app(text, "app.yaml", settings, kinds);
    BOOST_REQUIRE(!app.ok());
    BOOST_TEST((app.failure().code() == errc::usage));
    return app.failure().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(kinds_of_jobs)

BOOST_AUTO_TEST_CASE(a_file_is_of_the_kind_whose_key_it_has) {
    const auto app = parse_app("troupe: 1\ncounter: {rounds: 3}\n", "app.yaml", {}, kinds);
    BOOST_REQUIRE(app.ok());
    BOOST_TEST(app->kind() == "counter");
    const auto counter = app->as<proto::CounterApp>().getCounter();
    BOOST_TEST(counter.getRounds() == 3u);
    BOOST_TEST(counter.getWorkers() == 2u); // its default
    BOOST_TEST(render_app(app->root()) ==
               "troupe: 1\ncounter: {workers: 2, rounds: 3, step: 1, hangs: false}\n");
    BOOST_TEST(parse_app("troupe: 1\ncounter: {}\n", "app.yaml", {"counter.step=2"}, kinds)
                   ->as<proto::CounterApp>()
                   .getCounter()
                   .getStep() == 2u);
}

BOOST_AUTO_TEST_CASE(a_file_of_no_kind_or_of_two_says_which_there_are) {
    BOOST_TEST(why_not("troupe: 1\n") == "app.yaml:1:1: no job; give one of model or counter");
    const std::string all = "troupe, data, model, train, topology, checkpoint, base or counter";
    BOOST_TEST(why_not("# nothing\n") == "app.yaml: empty; it needs some of " + all);
    BOOST_TEST(why_not("- 1") == "app.yaml:1:1: must be a map with " + all + ", not a list");
    BOOST_TEST(why_not("troupe: 1\ncounter: {}\nmodel: {}\n") ==
               "app.yaml:3:1: model: conflicts with \"counter\" at app.yaml:2:1; an app file is "
               "one job, with one of model or counter");
    BOOST_TEST(why_not("troupe: 1\ncounter: {}\n", {"model.input=[3]"})
                   .find("conflicts with \"counter\"") != std::string::npos);
    BOOST_TEST(why_not("troupe: 1\ncounter: {}\ntrain: {batch: 1}\n") ==
               "app.yaml:3:1: train: goes with \"model\", not with \"counter\"; leave it out");
}

BOOST_AUTO_TEST_CASE(schema_and_check_are_those_of_the_kind) {
    BOOST_TEST(why_not("troupe: 1\ncounter: {round: 3}\n") ==
               "app.yaml:2:11: counter.round: unknown key; did you mean \"rounds\"?");
    BOOST_TEST(why_not("troupe: 1\ncounter: {rounds: 2, step: 9999}\n") ==
               "app.yaml:2:28: counter.step: more than 1000 times counter.rounds");
}

BOOST_AUTO_TEST_CASE(documentation_has_the_keys_of_all_kinds) {
    const std::string all = explain_app_key("", kinds).value();
    BOOST_TEST(all.find("A training job") != std::string::npos);
    BOOST_TEST(all.find("A counting job") != std::string::npos);
    BOOST_TEST(explain_app_key("counter.rounds", kinds).value() ==
               "counter.rounds: Times that every worker adds.\n"
               "  whole number, 1 to 1000000; default 10\n");
    BOOST_TEST(explain_app_key("train.batch", kinds).value() ==
               explain_app_key("train.batch", {kinds.data(), 1}).value());
    const auto schema = nlohmann::json::parse(app_json_schema(kinds));
    BOOST_TEST(schema.at("oneOf").size() == 2u);
    BOOST_TEST(schema.at("oneOf").at(1).at("properties").contains("counter"));
    BOOST_TEST(!schema.contains("properties"));
}

BOOST_AUTO_TEST_SUITE_END()

// File names with "~" and variables.
#include <boost/test/unit_test.hpp>

#include <filesystem>

#include "actors/app_file/file_names.hpp"
#include "actors/training/plan/training_app.hpp"

using namespace troupe;

namespace {

std::string told(const std::string& name, const std::string& home = "/home/ann") {
    const auto whole = with_home(name, home);
    return whole ? *whole : "refused: " + whole.failure().message();
}

std::string app_with(const std::string& directory) {
    return "troupe: 1\ndata: {synthetic: {}}\nmodel: {input: [1], layers: [{linear: {out: 2}}], "
           "loss: "
           "cross_entropy}\ntrain: {batch: 1, optimizer: {sgd: {learning_rate: 1}}}\n"
           "checkpoint: {directory: " +
           directory + "}\n";
}

} // namespace

BOOST_AUTO_TEST_SUITE(file_names)

BOOST_AUTO_TEST_CASE(a_tilde_is_the_home_folder) {
    BOOST_TEST(told("~/data/x.csv") == "/home/ann/data/x.csv");
    BOOST_TEST(told("~") == "/home/ann");
    for (const char* name : {"x.csv", "/a/~/b", "a~", "./~x", "a/~", "", "cost$", "a$b", "$1.csv"})
        BOOST_TEST(told(name) == name);
    BOOST_TEST(told("~/x", "") == "refused: \"~/x\": the home folder is not known; write it out");
}

BOOST_AUTO_TEST_CASE(other_users_and_variables_are_refused) {
    BOOST_TEST(told("~bob/x") == "refused: \"~bob/x\": home folders of other users are not looked "
                                 "up; write the folder out, or ./~ where a name begins with ~");
    for (const char* name : {"$HOME/x", "/data/$USER/x", "${DATA}/x", "x-${DATA}", "$x"})
        BOOST_TEST(told(name).find("variables have no value in file names; write the folder out") !=
                       std::string::npos,
                   name);
}

BOOST_AUTO_TEST_CASE(names_in_app_files_and_settings_begin_at_the_home_folder) {
    const auto directory = [](const std::string& name, const app_settings& settings) {
        const auto app = parse_app(app_with(name), "/apps/app.yaml", settings,
                                   {&training_kind(), 1}, "/home/ann");
        return app ? std::string{app->as<proto::App>().getCheckpoint().getDirectory().cStr()}
                   : app.failure().message();
    };
    BOOST_TEST(directory("~/saved", {}) == "/home/ann/saved");
    BOOST_TEST(directory("saved", {}) == "/apps/saved");
    BOOST_TEST(directory("saved", {"checkpoint.directory=~/saved"}) == "/home/ann/saved");
    BOOST_TEST(directory("$HOME/saved", {})
                   .starts_with("/apps/app.yaml:5:25: checkpoint.directory: \"$HOME/saved\": "
                                "variables have no value"));
    BOOST_TEST(parse_app("base: ~/none.yaml\n", "app.yaml", {}, {&training_kind(), 1}, "/nowhere")
                   .failure()
                   .message() == "app.yaml:1:7: base: /nowhere/none.yaml: no such app file");
    // Without a home folder no folder of the name "~" is made either.
    BOOST_TEST(parse_app(app_with("~/saved"), "app.yaml", {}, {&training_kind(), 1})
                   .failure()
                   .message()
                   .find("the home folder is not known") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

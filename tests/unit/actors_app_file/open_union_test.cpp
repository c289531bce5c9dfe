// Open unions: their members come from the row of the kind, not from its schema.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "actors/app_file/app_file.hpp"
#include "actors/app_file/value_ranges.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/actors_app_file/garden.capnp.h"

using namespace troupe;
using troupe::test::temporary_folder;

namespace {

template <class Settings>
app_member member(const std::string& name, const std::string& doc = "A plant.") {
    return {name, capnp::Schema::from<Settings>(), doc};
}

const app_kind garden{
    .key = "garden",
    .schema = capnp::Schema::from<proto::GardenApp>(),
    .members = {member<proto::Rose>("rose", "A shrub with flowers."), member<proto::Oak>("oak")}};

result<app_definition> parse(const std::string& plant, const app_settings& settings = {}) {
    return parse_app("troupe: 1\ngarden: {plant: " + plant + "}\n", "app.yaml", settings,
                     {&garden, 1});
}

std::string why_not(const std::string& plant, const app_settings& settings = {}) {
    const auto app = parse(plant, settings);
    BOOST_REQUIRE(!app.ok());
    BOOST_TEST((app.failure().code() == errc::usage));
    return app.failure().message();
}

proto::Plant::Reader plant_of(const app_definition& app) {
    return app.as<proto::GardenApp>().getGarden().getPlant();
}

std::string explain(std::string_view path) {
    const auto text = explain_app_key(path, {&garden, 1});
    return text ? *text : text.failure().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(open_unions)

BOOST_AUTO_TEST_CASE(a_member_is_read_by_the_schema_of_its_row) {
    const auto app = parse("{oak: {age: 7, photo: a/b.png, rings: [1, 2.5]}}").value();
    const auto plant = plant_of(app);
    BOOST_TEST(plant.getName().cStr() == "oak");
    const auto oak = plant.getSettings().getAs<proto::Oak>();
    BOOST_TEST(oak.getAge() == 7u);
    BOOST_TEST(oak.getPhoto().cStr() == "a/b.png");
    BOOST_TEST(oak.getRings()[1] == 2.5);
    BOOST_TEST(active_key(plant) == "oak");
    BOOST_TEST(open_settings(plant, app.members()).get("age").as<unsigned>() == 7u);
    BOOST_TEST(app.is_given("garden.plant.oak.age"));
    BOOST_TEST(!app.is_given("garden.plant.rose"));
    BOOST_TEST(app.error_at("garden.plant.oak.birds", "none here").message() ==
               "app.yaml:2:23: garden.plant.oak.birds: none here");
    BOOST_TEST(app.error_at("garden.plant.oak.age", "young").message() ==
               "app.yaml:2:29: garden.plant.oak.age: young");
}

BOOST_AUTO_TEST_CASE(a_member_whose_settings_all_have_defaults_may_be_a_word) {
    for (const char* text : {"rose", "{rose: {}}"}) {
        const auto app = parse(text).value();
        const auto rose = plant_of(app).getSettings().getAs<proto::Rose>();
        BOOST_TEST(plant_of(app).getName().cStr() == "rose");
        BOOST_TEST(rose.getHeight() == 0.1);
        BOOST_TEST(rose.getThorns());
    }
    BOOST_TEST(why_not("oak") == "app.yaml:2:17: garden.plant: \"oak\" needs settings; write it as "
                                 "a key, {oak: {...}}");
    BOOST_TEST(why_not("rosa") ==
               "app.yaml:2:17: garden.plant: unknown word \"rosa\"; did you mean \"rose\"?");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_with_its_place_and_the_nearest_key) {
    BOOST_TEST(why_not("{rosse: {}}") ==
               "app.yaml:2:18: garden.plant.rosse: unknown key; did you mean \"rose\"?");
    BOOST_TEST(why_not("{settings: {}}") ==
               "app.yaml:2:18: garden.plant.settings: unknown key; expected rose or oak");
    BOOST_TEST(
        why_not("{name: rose}").starts_with("app.yaml:2:18: garden.plant.name: unknown key; "));
    BOOST_TEST(why_not("{rose: {hieght: 1}}") ==
               "app.yaml:2:25: garden.plant.rose.hieght: unknown key; did you mean \"height\"?");
    BOOST_TEST(why_not("{rose: {height: 11}}") ==
               "app.yaml:2:33: garden.plant.rose.height: must be 0.05 to 10, not \"11\"");
    BOOST_TEST(why_not("{oak: {photo: a.png}}") ==
               "app.yaml:2:23: garden.plant.oak: missing key \"age\": Years.");
    BOOST_TEST(why_not("{oak: {age: 1}, rose: {}}") ==
               "app.yaml:2:33: garden.plant.rose: conflicts with \"oak\" at app.yaml:2:18; give "
               "exactly one of rose or oak");
    BOOST_TEST(why_not("{}") ==
               "app.yaml:2:17: garden.plant: empty; give exactly one of rose or oak");
    BOOST_TEST(why_not("[rose]") ==
               "app.yaml:2:17: garden.plant: must be a map with rose or oak, not a list");
    BOOST_TEST(why_not("{rose: }") == "app.yaml:2:24: garden.plant.rose: has no value");
    BOOST_TEST(why_not("{oak: {age: 1, rings: [10]}}") ==
               "app.yaml:2:40: garden.plant.oak.rings[0]: must be at most 9, not \"10\"");
    BOOST_TEST(parse_app("troupe: 1\ngarden: {area: 1}\n", "app.yaml", {}, {&garden, 1})
                   .failure()
                   .message() == "app.yaml:2:9: garden: missing key \"plant\": What grows.");
}

BOOST_AUTO_TEST_CASE(settings_reach_into_a_member) {
    const auto height = [](const char* text, const app_settings& settings) {
        const auto app = parse(text, settings).value();
        return plant_of(app).getSettings().getAs<proto::Rose>().getHeight();
    };
    BOOST_TEST(height("{rose: {height: 1}}", {"garden.plant.rose.height=2"}) == 2);
    BOOST_TEST(height("rose", {"garden.plant.rose.height=3"}) == 3);
    BOOST_TEST(height("{oak: {age: 1}}", {"garden.plant=rose"}) == 0.1);
    BOOST_TEST(why_not("rose", {"garden.plant.rose.height=x"}) ==
               "--set garden.plant.rose.height: must be a number, not \"x\"");
    BOOST_TEST(why_not("rose", {"garden.plant.rose.width=1"}) ==
               "--set garden.plant.rose.width: unknown key; expected height, thorns or colour");
    BOOST_TEST(why_not("{rose: {}}", {"garden.plant.oak.age=1"})
                   .starts_with("--set garden.plant.oak.age: garden.plant.oak: conflicts with "
                                "\"rose\" at app.yaml:2:18"));
}

BOOST_AUTO_TEST_CASE(files_build_on_others_key_by_key_and_one_member_replaces_another) {
    const temporary_folder folder;
    const auto write = [&](const char* name, const std::string& text) {
        std::ofstream{folder.path() / name} << text;
        return folder.path() / name;
    };
    write("base.yaml", "troupe: 1\ngarden: {plant: {oak: {age: 7, photo: oak.png}}, area: 1}\n");
    const auto load = [&](const std::string& plant) {
        return load_app(write("app.yaml", "base: base.yaml\ngarden: {plant: " + plant + "}\n"), {},
                        {&garden, 1})
            .value();
    };
    const auto older = load("{oak: {age: 8}}");
    const auto oak = plant_of(older).getSettings().getAs<proto::Oak>();
    BOOST_TEST(oak.getAge() == 8u);
    BOOST_TEST(oak.getPhoto().cStr() == (folder.path() / "oak.png").string());
    BOOST_TEST(older.as<proto::GardenApp>().getGarden().getArea() == 1);
    for (const char* other : {"rose", "{rose: {thorns: false}}"})
        BOOST_TEST(active_key(plant_of(load(other))) == "rose");
}

BOOST_AUTO_TEST_CASE(what_is_rendered_is_the_same_app) {
    for (const auto& [plant, rendered] : {
             std::pair{"rose", "    rose: {height: 0.1, thorns: true, colour: red}\n"},
             {"{rose: {height: 1e-1, colour: dark_red}}",
              "    rose: {height: 0.1, thorns: true, colour: dark_red}\n"},
             {"{oak: {age: 3, rings: [0.3, 3]}}",
              "    oak:\n      age: 3\n      rings: [0.3, 3]\n      birds: none\n"},
         }) {
        const auto app = parse(plant).value();
        const std::string text = render_app(app);
        BOOST_TEST(text ==
                   "troupe: 1\ngarden:\n  plant:\n" + std::string{rendered} +
                       "  watering:\n    by_hand: {times: 1}\n    litres: 3\n  area: 2.5\n");
        BOOST_TEST(render_app(parse_app(text, "app.yaml", {}, {&garden, 1}).value()) == text);
        BOOST_TEST(render_app(app.root(), app.members()) == text);
    }
}

BOOST_AUTO_TEST_CASE(an_open_union_that_is_absent_stands_for_no_member) {
    const auto app = parse("rose").value();
    BOOST_TEST(!app.as<proto::GardenApp>().getGarden().hasHedge());
    BOOST_TEST(render_app(app).find("hedge") == std::string::npos);
    BOOST_TEST(explain("garden.hedge").find("  one of rose or oak; optional\n") !=
               std::string::npos);
    const auto both = parse("rose, hedge: {rose: {height: 1}}").value();
    BOOST_TEST(render_app(both).find("  hedge:\n    rose: {height: 1, ") != std::string::npos);
    BOOST_TEST(why_not("rose, hedge: {rose: {hight: 1}}") ==
               "app.yaml:2:38: garden.hedge.rose.hight: unknown key; did you mean \"height\"?");
}

BOOST_AUTO_TEST_CASE(members_and_their_settings_are_explained) {
    BOOST_TEST(explain("garden.plant") == "garden.plant: What grows.\n"
                                          "  one of rose or oak; required\n"
                                          "  exactly one of:\n"
                                          "    rose  A shrub with flowers.\n"
                                          "          (map)\n"
                                          "    oak   A plant.\n"
                                          "          (map)\n");
    BOOST_TEST(explain("").find("garden  What grows where.") != std::string::npos);
    BOOST_TEST(explain("garden").find("(one of rose or oak; required)") != std::string::npos);
    BOOST_TEST(explain("garden.plant.rose.height") == "garden.plant.rose.height: Metres.\n"
                                                      "  number, 0.05 to 10; default 0.1\n");
    BOOST_TEST(explain("height") == "\"height\" stands in 2 places:\n"
                                    "  garden.plant.rose.height: Metres.\n"
                                    "  garden.hedge.rose.height: Metres.\n");
    BOOST_TEST(explain("plant.oak.birds").find("    owls  So many owls.\n") != std::string::npos);
    BOOST_TEST(explain("garden.plant.ros") ==
               "garden.plant: no key \"ros\"; did you mean \"rose\"?");
    BOOST_TEST(explain("garden.plant.rose.size") ==
               "garden.plant.rose: no key \"size\"; expected height, thorns or colour");
    BOOST_TEST(explain("garden.plant.settings").starts_with("garden.plant: no key \"settings\""));
}

BOOST_AUTO_TEST_CASE(the_json_schema_has_a_choice_for_each_form_of_each_member) {
    const auto schema = nlohmann::json::parse(app_json_schema({&garden, 1}));
    const auto& choices = schema["definitions"]["Plant"]["oneOf"];
    BOOST_REQUIRE(choices.size() == 3u); // rose as a word and as a key, oak as a key
    BOOST_TEST(choices[0]["const"] == "rose");
    BOOST_TEST(choices[1]["required"] == nlohmann::json({"rose"}));
    BOOST_TEST(choices[2]["properties"]["oak"]["allOf"][0]["$ref"] == "#/definitions/Oak");
    BOOST_TEST(schema["definitions"]["Rose"]["properties"]["height"]["default"] == 0.1);
    BOOST_TEST(schema["definitions"]["Oak"]["required"] == nlohmann::json({"age"}));
    BOOST_TEST(!schema["definitions"]["Garden"]["properties"]["plant"].contains("default"));
}

BOOST_AUTO_TEST_CASE(numbers_of_a_member_that_come_from_another_process_keep_their_ranges) {
    capnp::MallocMessageBuilder message;
    auto made = message.initRoot<proto::Garden>();
    const auto outcome = [&] {
        const auto checked = check_ranges(capnp::toDynamic(made.asReader()), garden.members);
        return checked ? std::string{"fits"} : checked.failure().message();
    };
    made.getPlant().setName("rose");
    made.getPlant().getSettings().initAs<proto::Rose>().setHeight(1);
    BOOST_TEST(outcome() == "fits");
    made.getPlant().getSettings().initAs<proto::Rose>().setHeight(20);
    BOOST_TEST(outcome() == "plant: rose: height must be 0.05 to 10, not 20");
    made.getPlant().setName("cactus");
    BOOST_TEST(outcome() == "plant: this build knows no \"cactus\"");
}

BOOST_AUTO_TEST_CASE(an_assumed_member_holds_where_only_other_keys_are_given) {
    const auto watering = [](const std::string& text) {
        const auto app = parse("rose, watering: " + text).value();
        const auto read = app.as<proto::GardenApp>().getGarden().getWatering();
        return std::string{read.isByHand() ? "by hand " : "rain "} +
               std::to_string(read.getLitres());
    };
    BOOST_TEST(watering("{litres: 9}") == "by hand 9");
    BOOST_TEST(watering("{by_hand: {times: 2}, litres: 9}") == "by hand 9");
    BOOST_TEST(watering("{rain: {}, litres: 9}") == "rain 9");
    BOOST_TEST(watering("rain") == "rain 3");
    BOOST_TEST(why_not("rose, watering: {}").find("empty; give exactly one of by_hand or rain") !=
               std::string::npos);
    const auto rain = parse("rose, watering: {rain: {}, litres: 9}").value();
    BOOST_TEST(render_app(rain).find("  watering: {rain: {}, litres: 9}\n") != std::string::npos);
    const auto schema = nlohmann::json::parse(app_json_schema({&garden, 1}));
    BOOST_TEST(schema["definitions"]["Watering"]["oneOf"].size() == 5u);
}

BOOST_AUTO_TEST_CASE(members_that_the_language_cannot_read_are_refused_before_they_are_used) {
    BOOST_TEST(check_members(garden.members).ok());
    BOOST_TEST(check_members(std::vector{member<proto::HoldsItself>("tree")}).ok());
    const auto outcome = [](std::vector<app_member> members) {
        const auto checked = check_members(members);
        BOOST_REQUIRE(!checked);
        BOOST_TEST((checked.failure().code() == errc::data));
        return checked.failure().message();
    };
    BOOST_TEST(outcome({member<proto::SignedNumber>("well")})
                   .starts_with("\"well\": depth: a type that app files do not have; they have "));
    BOOST_TEST(outcome({member<proto::UnboundedList>("tree")}) ==
               "\"tree\": inner.leaves: a list without $maxItems");
    BOOST_TEST(outcome({member<proto::NamedUnion>("bed")}).starts_with("\"bed\": soil: a type "));
    BOOST_TEST(outcome({member<proto::NestedPlant>("ivy")}) ==
               "\"ivy\": plant: an open union in settings");
    BOOST_TEST(outcome({member<proto::UnionWithoutDefault>("x")})
                   .starts_with("\"x\": tree: its first member must have defaults"));
    BOOST_TEST(outcome({member<proto::Rose>("rose"), member<proto::Oak>("rose")}) ==
               "there are two of the name \"rose\"; rename or remove one of them");
    for (const char* name : {"", "Rose", "a.b", "a b", "1a", "_a"})
        BOOST_TEST(outcome({member<proto::Rose>(name)}).find("cannot be a key") !=
                   std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

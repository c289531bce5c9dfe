// App files of programs of scheduled parameters.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "actors/app_file/schema.hpp"
#include "actors/scheduled/program_app.hpp"
#include "actors/training/plan/training_app.hpp"
#include "tests/unit/actors_app_file/garden.capnp.h"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

// Two programs that stand for any.
const app_kind kind =
    program_app_kind({{"rose", capnp::Schema::from<proto::Rose>(), "A program with defaults."},
                      {"oak", capnp::Schema::from<proto::Oak>(), "A program that needs an age."}});
const std::vector<app_kind> kinds{training_kind(), kind};

const std::string head = "troupe: 1\ndata: {matrix: {features: x.npy, targets: y.npy}}\n";

std::string why_not(const std::string& text, const app_settings& settings = {}) {
    const auto app = parse_app(text, "app.yaml", settings, kinds);
    BOOST_REQUIRE(!app.ok());
    BOOST_TEST((app.failure().code() == errc::usage));
    return app.failure().message();
}

std::string wrong(const std::string& rest, const app_settings& settings = {}) {
    return why_not(head + "program: rose\n" + rest, settings);
}

program_app parse(const std::string& rest, const std::string& program = "rose") {
    return parse_program_app(head + "program: " + program + "\n" + rest, "app.yaml", {}, kind)
        .value();
}

program_app load_from(const std::string& file, const std::string& rest) {
    return parse_program_app(head + "program: rose\n" + rest, file, {}, kind).value();
}

void check_documented(capnp::StructSchema schema, std::set<std::uint64_t>& seen) {
    if (app_file::is_open(schema) || !seen.insert(schema.getProto().getId()).second)
        return;
    for (const auto& f : app_file::rules_of(schema, {}).fields) {
        BOOST_TEST(!f.doc.empty(), f.key << " has no documentation");
        if (!f.type().isStruct() || app_file::is_open(f.type().asStruct()))
            continue;
        const auto below = app_file::rules_of(f.type().asStruct(), {});
        const bool may_be_absent = !f.required && !f.in_union;
        if (below.has_union && (may_be_absent || below.first_member()->is_assumed))
            BOOST_TEST(app_file::stands_alone(*below.first_member()), f.key);
        check_documented(f.type().asStruct(), seen);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(program_apps)

BOOST_AUTO_TEST_CASE(another_program_comes_by_the_command_line) {
    const std::string how = "; load one of your own by --program FILE.so";
    BOOST_TEST(why_not(head + "program: {tulip: {}}\n").ends_with("expected rose or oak" + how));
    BOOST_TEST(why_not(head + "program: tulip\n").ends_with("expected rose or oak" + how));
    BOOST_TEST(why_not(head + "program: {roze: {}}\n").ends_with("did you mean \"rose\"?"));
    BOOST_TEST(why_not(head + "program: {rose: {colour: {}}}\n").find(how) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(results_and_checkpoints_have_folders_of_their_own) {
    const auto said = [&](const std::string& result, const std::string& checkpoint,
                          const app_settings& settings = {}) {
        return parse_program_app(head + "program: rose\nresult: {directory: " + result +
                                     "}\ncheckpoint: {directory: " + checkpoint + "}\n",
                                 "app.yaml", settings, kind);
    };
    const auto same = said("a/b", "a/./c/../b/");
    BOOST_REQUIRE(!same.ok());
    BOOST_TEST(same.failure().message() ==
               "app.yaml:5:25: checkpoint.directory: is result.directory, too; give checkpoints a "
               "folder of their own");
    BOOST_TEST(said("a", "a/b").ok());
    const auto set = said("a", "b", {"checkpoint.directory=a"});
    BOOST_REQUIRE(!set.ok());
    BOOST_TEST(set.failure().message().starts_with("--set checkpoint.directory: is "));
}

BOOST_AUTO_TEST_CASE(a_file_says_its_data_and_program_and_the_rest_has_defaults) {
    const program_app app = parse("");
    BOOST_TEST(app.kind() == "program");
    BOOST_TEST(app.program() == "rose");
    BOOST_TEST(app.settings().getAs<proto::Rose>().getHeight() == 0.1);
    BOOST_TEST(app.app().getData().getMatrix().getFeatures().cStr() == "x.npy");
    BOOST_TEST((app.app().getData().getScale() == proto::ColumnScale::NONE));
    const auto schedule = app.app().getSchedule();
    BOOST_REQUIRE(schedule.isDynamic());
    BOOST_TEST(schedule.getDynamic().getWindow() == 2u);
    BOOST_TEST((schedule.getDynamic().getCouple() == proto::Coupling::EXACT));
    BOOST_TEST(schedule.getWorkers() == 0u);
    BOOST_TEST(schedule.getShards() == 1u);
    BOOST_TEST(app.app().getStop().getGap() == 1e-6);
    BOOST_TEST(app.app().getSeed() == 1u);
    BOOST_TEST(!app.app().hasResult());
    BOOST_TEST(!app.app().hasCheckpoint());
}

BOOST_AUTO_TEST_CASE(the_settings_of_a_program_are_read_by_its_own_schema) {
    const program_app app = parse("", "{oak: {age: 5}}");
    BOOST_TEST(app.program() == "oak");
    BOOST_TEST(app.settings().getAs<proto::Oak>().getAge() == 5u);
    BOOST_TEST(app.dynamic_settings().get("age").as<unsigned>() == 5u);
    BOOST_TEST(app.path_of("age") == "program.oak.age");
    BOOST_TEST(app.path_of("") == "program.oak");
    const error failed = app.at_setting({errc::data, "age: too young for this data"});
    BOOST_TEST((failed.code() == errc::data));
    BOOST_TEST(failed.message() == "app.yaml:3:22: program.oak.age: too young for this data");
    BOOST_TEST(why_not(head + "program: {rose: {hight: 1}}\n") ==
               "app.yaml:3:18: program.rose.hight: unknown key; did you mean \"height\"?");
    BOOST_TEST(why_not(head + "program: {rosse: {}}\n") ==
               "app.yaml:3:11: program.rosse: unknown key; did you mean \"rose\"?");
    BOOST_TEST(wrong("", {"program.rose.height=99"}) ==
               "--set program.rose.height: must be 0.05 to 10, not \"99\"");
}

BOOST_AUTO_TEST_CASE(an_error_about_a_setting_is_placed_at_the_programs_own_key_before_another) {
    const std::string why = ": too many";
    const auto place = [&](const program_app& app, const std::string& key) {
        const std::string all = app.at_setting({errc::usage, key + why}).message();
        return all.substr(0, all.size() - why.size());
    };
    const program_app moss =
        parse_program_app(
            head + "program: {moss: {data: 5, stop: 6}}\n", "app.yaml", {},
            program_app_kind({{"moss", capnp::Schema::from<proto::Moss>(), "Of few numbers."}}))
            .value();
    BOOST_TEST(place(moss, "data") == "app.yaml:3:24: program.moss.data");
    BOOST_TEST(place(moss, "stop") == "app.yaml:3:33: program.moss.stop");
    BOOST_TEST(place(moss, "data.scale").ends_with("program.moss.data.scale"));
    BOOST_TEST(place(moss, "schedule").ends_with(" schedule"));
    const program_app oak = parse("", "{oak: {age: 5}}");
    BOOST_TEST(place(oak, "data") == "app.yaml:2:7: data");
    BOOST_TEST(place(oak, "data.matrix") == "app.yaml:2:16: data.matrix");
}

BOOST_AUTO_TEST_CASE(a_schedule_may_be_named_or_only_divided) {
    BOOST_TEST(parse("schedule: cyclic\n").app().getSchedule().isCyclic());
    const program_app divided = parse("schedule: {workers: 4, shards: 2}\n");
    BOOST_TEST(divided.app().getSchedule().isDynamic());
    BOOST_TEST(divided.app().getSchedule().getWorkers() == 4u);
    BOOST_TEST(wrong("schedule: {dynamic: {window: 65}}\n") ==
               "app.yaml:4:30: schedule.dynamic.window: must be 0 to 64, not \"65\"");
    BOOST_TEST(wrong("schedule: cyclical\n") ==
               "app.yaml:4:11: schedule: unknown word \"cyclical\"; did you mean \"cyclic\"?");
}

BOOST_AUTO_TEST_CASE(a_key_of_a_member_of_a_union_is_found_where_it_belongs) {
    const auto said = [](const std::string& schedule) {
        const std::string all = wrong("schedule: " + schedule + "\n");
        return all.substr(all.find("unknown key; ") + 13);
    };
    BOOST_TEST(said("{window: 3}") == "did you mean \"dynamic.window\"?"); // which holds
    BOOST_TEST(said("{windows: 3}") == "did you mean \"dynamic.window\"?");
    BOOST_TEST(said("{cyclic: {}, window: 3}") == "did you mean \"cyclic.window\"?");
    BOOST_TEST(said("{window: 3, rotation: {}}") == "did you mean \"rotation.window\"?");
    BOOST_TEST(said("{worker: 3}") == "did you mean \"workers\"?");
    BOOST_TEST(wrong("", {"schedule.window=3"}) ==
               "--set schedule.window: unknown key; did you mean \"dynamic.window\"?");
    BOOST_TEST(why_not("troupe: 1\ndata: {features: x.npy}\nprogram: rose\n") ==
               "app.yaml:2:8: data.features: unknown key; did you mean \"matrix.features\"?");
    BOOST_TEST(why_not(head + "program: {height: 1}\n") ==
               "app.yaml:3:11: program.height: unknown key; did you mean \"rose.height\"?");
}

BOOST_AUTO_TEST_CASE(a_bound_on_correlations_goes_with_their_check_alone) {
    const program_app app = parse("schedule: {dynamic: {couple: check, rho: 0.3}}\n");
    BOOST_TEST(app.app().getSchedule().getDynamic().getRho() == 0.3);
    BOOST_TEST(wrong("schedule: {dynamic: {rho: 0.3}}\n") ==
               "app.yaml:4:27: schedule.dynamic.rho: goes with couple: check; give that, too, or "
               "leave it out");
    BOOST_TEST(
        wrong("schedule: {dynamic: {couple: check, rho: 0.3}}\n", {"schedule.dynamic.couple=exact"})
            .find("goes with couple: check") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_values_of_a_file_are_listed_with_their_keys) {
    const auto values = [](const std::string& file) {
        const auto app = load_from(file, "schedule: {rotation: {window: 3}}\n");
        std::map<std::string, std::string> all;
        for (const app_value& v : values_of(app.root(), app.members()))
            BOOST_TEST(all.emplace(v.path, v.text).second);
        return all;
    };
    const auto all = values("folder/app.yaml");
    BOOST_TEST(all.at("schedule.rotation.window") == "3");
    BOOST_TEST(all.at("schedule.rotation.blocks_per_worker") == "2"); // by default
    BOOST_TEST(all.at("program.rose.height") == "0.1");
    BOOST_TEST(all.at("data.matrix.features") ==
               std::filesystem::current_path().string() + "/folder/x.npy");
    BOOST_TEST(all.count("schedule.dynamic.window") == 0u);
    BOOST_TEST((values("./other/../folder/app.yaml") == all));
}

BOOST_AUTO_TEST_CASE(a_run_has_a_bound) {
    BOOST_TEST(parse("stop: {gap: 0, sweeps: 3}\n").app().getStop().getSweeps() == 3u);
    BOOST_TEST(parse("stop: {gap: 0, phases: 3}\n").app().getStop().getPhases() == 3u);
    BOOST_TEST(parse("stop: {gap: 0, seconds: 0.5}\n").app().getStop().getSeconds() == 0.5);
    BOOST_TEST(parse("stop: {sweeps: 3}\n").app().getStop().getGap() == 1e-6);
    BOOST_TEST(wrong("stop: {gap: 0}\n") ==
               "app.yaml:4:7: stop: the run would never end; give gap, sweeps, phases or seconds "
               "more than 0");
    BOOST_TEST(wrong("stop: {gap: -1}\n") == "app.yaml:4:13: stop.gap: must be 0 to 1, not \"-1\"");
    BOOST_TEST(wrong("stop: {gap: .nan}\n") ==
               "app.yaml:4:13: stop.gap: must be a number, not \".nan\"");
}

BOOST_AUTO_TEST_CASE(targets_are_given_once) {
    const auto with = [](const std::string& data) {
        return why_not("troupe: 1\nprogram: rose\ndata: " + data + "\n");
    };
    BOOST_TEST(
        with("{matrix: {features: x.csv, targets: y.csv, target_column: price}}") ==
        "app.yaml:3:65: data.matrix.target_column: gives targets, and so does targets; leave "
        "one of them out");
    BOOST_TEST(with("{matrix: {targets: y.npy}}")
                   .starts_with("app.yaml:3:16: data.matrix: missing key \"features\": "));
    BOOST_TEST(with("{matrix: {features: x.csv}, scale: unit}") ==
               "app.yaml:3:42: data.scale: unknown word \"unit\"; expected none or unit_norm");
}

BOOST_AUTO_TEST_CASE(documents_come_from_one_place_and_settings_fit_it) {
    const auto with = [](const std::string& data) {
        return "troupe: 1\nprogram: rose\ndata: " + data + "\n";
    };
    const auto parsed = [&](const std::string& data) {
        return parse_program_app(with(data), "app.yaml", {}, kind).value();
    };
    const program_app words = parsed("{documents: {text: t, stem: english, stop_words: english, "
                                     "stop_words_file: s, length_min: 3}}");
    BOOST_TEST(words.app().getData().getDocuments().getText().cStr() == "t");
    BOOST_TEST(words.app().getData().getDocuments().getDocumentsMaxShare() == 1);
    const std::string rendered = render_app(words);
    BOOST_TEST(render_app(parse_program_app(rendered, "app.yaml", {}, kind).value()) == rendered);
    parsed("{documents: {counts: c, documents_min: 2, words_max: 1000}}");
    parsed("{documents: {counts: c, vocabulary: v, stop_words: english, length_min: 2}}");
    BOOST_TEST(why_not(with("{documents: {words_max: 5}}"))
                   .starts_with("app.yaml:3:19: data.documents: "));
    BOOST_TEST(why_not(with("{documents: {text: t, lines: l}}")).find("conflicts with \"text\"") !=
               std::string::npos);
    BOOST_TEST(why_not(with("{documents: {lines: l, vocabulary: v}}")) ==
               "app.yaml:3:42: data.documents.vocabulary: goes with counts; texts have their own "
               "words, so leave it out");
    BOOST_TEST(why_not(with("{documents: {counts: c, stem: porter}}")) ==
               "app.yaml:3:37: data.documents.stem: goes with text, lines and dictionary; leave it "
               "out for counts");
    for (const std::string rest : {"stop_words: english", "stop_words_file: s", "length_min: 2"}) {
        const std::string key = rest.substr(0, rest.find(':'));
        BOOST_TEST(why_not(with("{documents: {counts: c, " + rest + "}}"))
                       .ends_with(": data.documents." + key +
                                  ": counts without a vocabulary have no words to look at; name "
                                  "it by data.documents.vocabulary, or leave this out"));
    }
    BOOST_TEST(why_not(with("{documents: {counts: c}, scale: unit_norm}")) ==
               "app.yaml:3:39: data.scale: is for matrices; leave it out");
}

BOOST_AUTO_TEST_CASE(a_file_is_a_training_job_or_a_program_and_keys_of_the_other_are_refused) {
    BOOST_TEST(
        why_not(head + "program: rose\nmodel: {}\n") ==
        "app.yaml:4:1: model: conflicts with \"program\" at app.yaml:3:1; an app file is one "
        "job, with one of model or program");
    BOOST_TEST(wrong("train: {batch: 1}\n") ==
               "app.yaml:4:1: train: goes with \"model\", not with \"program\"; leave it out");
    BOOST_TEST(wrong("topology: single\n") ==
               "app.yaml:4:1: topology: goes with \"model\", not with \"program\"; leave it out");
    for (const std::string key : {"schedule", "stop", "result", "seed"})
        BOOST_TEST(why_not("troupe: 1\nmodel: {}\n" + key + ": 1\n") ==
                   "app.yaml:3:1: " + key +
                       ": goes with \"program\", not with \"model\"; leave it out");
    BOOST_TEST(why_not("troupe: 1\nprogramme: rose\n") ==
               "app.yaml:2:1: programme: unknown key; did you mean \"program\"?");
    BOOST_TEST(why_not("troupe: 1\ndata: {}\n") ==
               "app.yaml:1:1: no job; give one of model or program");
    BOOST_TEST(wrong("shedule: cyclic\n") ==
               "app.yaml:4:1: shedule: unknown key; did you mean \"schedule\"?");
}

BOOST_AUTO_TEST_CASE(what_is_rendered_is_the_same_app) {
    const std::string rest = "schedule: {cyclic: {window: 0}, shards: 3}\n"
                             "stop: {gap: 1e-9, seconds: 60}\n"
                             "result: {directory: out}\n"
                             "checkpoint: {directory: saved, every_seconds: 5}\n"
                             "seed: 18446744073709551615\n";
    const program_app app = parse(rest, "{oak: {age: 5}}");
    const std::string text = render_app(app);
    BOOST_TEST(text.find("  oak: {age: 5, birds: none}\n") != std::string::npos, text);
    BOOST_TEST(text.find("stop: {gap: 1e-09, sweeps: 0, phases: 0, seconds: 60, length: 0, "
                         "iterations: 0}\n") != std::string::npos,
               text);
    BOOST_TEST(render_app(parse_program_app(text, "app.yaml", {}, kind).value()) == text);
    const std::string defaults = render_app(parse(""));
    BOOST_TEST(render_app(parse_program_app(defaults, "app.yaml", {}, kind).value()) == defaults);
    BOOST_TEST(defaults ==
               "troupe: 1\n"
               "data:\n"
               "  matrix: {features: \"x.npy\", targets: \"y.npy\", header: auto}\n"
               "  scale: none\n"
               "program:\n"
               "  rose: {height: 0.1, thorns: true, colour: red}\n"
               "schedule:\n"
               "  dynamic: {window: 2, set: 0, couple: exact, rho: 0.1, base_width: 0.1}\n"
               "  workers: 0\n"
               "  shards: 1\n"
               "seed: 1\n");
}

BOOST_AUTO_TEST_CASE(keys_of_several_kinds_are_explained_for_each) {
    const auto explain = [](std::string_view path) {
        const auto text = explain_app_key(path, kinds);
        return text ? *text : text.failure().message();
    };
    BOOST_TEST(explain("").find("(one of rose or oak; required)") != std::string::npos);
    BOOST_TEST(explain("program.rose.height") ==
               "program.rose.height: Metres.\n  number, 0.05 to 10; default 0.1\n");
    BOOST_TEST(explain("stop.gap").find("number, 0 to 1; default 1e-06") != std::string::npos);
    BOOST_TEST(explain("schedule.dynamic.couple").find("    check: ") != std::string::npos);
    BOOST_TEST(explain("data.matrix").find("  keys:\n    features ") != std::string::npos);
    BOOST_TEST(explain("data.npy").find("train_inputs") != std::string::npos);
    BOOST_TEST(explain("troupe").starts_with("troupe: Version")); // the same in both
    const std::string checkpoint = explain("checkpoint");
    BOOST_TEST(checkpoint.starts_with("with \"model\":\ncheckpoint: "), checkpoint);
    BOOST_TEST(checkpoint.find("\nwith \"program\":\ncheckpoint: ") != std::string::npos,
               checkpoint);
    BOOST_TEST(explain("checkpoint.every_seconds").starts_with("checkpoint.every_seconds: "));
    BOOST_TEST(explain("progarm") == "no key \"progarm\"; did you mean \"program\"?");
    BOOST_TEST(explain("program.rode") == "program: no key \"rode\"; did you mean \"rose\"?");
    BOOST_TEST(
        explain("checkpoint.every").find("; with \"program\": checkpoint: no key \"every\"") !=
        std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_key_is_documented_and_in_the_json_schema) {
    std::set<std::uint64_t> seen;
    check_documented(kind.schema, seen);
    const auto schema = nlohmann::json::parse(app_json_schema(kinds));
    BOOST_TEST(schema.at("oneOf").at(1).at("properties").contains("schedule"));
    BOOST_TEST(schema.at("oneOf").at(1).at("required") ==
               nlohmann::json({"troupe", "data", "program"}));
    BOOST_TEST(schema.at("definitions").at("Program").at("oneOf").size() == 3u);
    BOOST_TEST(
        schema.at("definitions").at("ProgramStop").at("properties").at("gap").at("default") ==
        1e-6);
}

BOOST_AUTO_TEST_SUITE_END()

// Commits of programs on disk: what comes back, what is kept, and what is refused.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>

#include "actors/scheduled/run_checkpoints.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::scheduled;
using troupe::test::temporary_folder;

namespace {

memory_pool& memory() {
    static memory_pool pool{1u << 24};
    return pool;
}

payload numbers(std::vector<double> values) {
    return payload_of(memory(), values).value();
}

// Of two workers and a scheduler, at this phase.
saved_commit commit_at(std::uint64_t number) {
    saved_commit commit{{2, 1, 4, 1e-3}, {}};
    for (std::size_t m = 0; m < 3; ++m) {
        saved_state state;
        state.number = number;
        state.milestones = m == 2 ? 4 : 0;
        state.part = {
            {"b", "r"},
            payload_of(memory(), std::vector<double>{1.5, double(m)}, std::vector<std::int64_t>{-3})
                .value()};
        if (m == 2) {
            state.phases = {{number, false, numbers({7})}, {number + 1, true, {}}};
            state.deltas = {{number - 1, numbers({8, 9})}, {number - 2, {}}};
        }
        commit.members.push_back(std::move(state));
    }
    return commit;
}

const std::vector<app_value> settings{{"program.chain.length", "4"}, {"seed", "1"}};

run_checkpoints opened(const temporary_folder& folder,
                       const std::vector<app_value>& of = settings) {
    return run_checkpoints::open(folder.path() / "saved", 2, {"chain", of}).value();
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

std::string refusal(const run_checkpoints& store) {
    const auto loaded = store.latest(memory());
    return loaded ? "taken" : loaded.failure().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(checkpoints_of_programs)

BOOST_AUTO_TEST_CASE(a_commit_comes_back_as_it_was) {
    const temporary_folder folder;
    run_checkpoints store = opened(folder);
    BOOST_TEST(!store.latest(memory()).value().has_value());
    BOOST_REQUIRE(store.save(commit_at(40)).ok());
    const auto back = store.latest(memory()).value();
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST(text_of(back->shape) == "2 workers, 1 shard and window 4");
    BOOST_TEST(back->shape.gap == 1e-3);
    BOOST_REQUIRE(back->members.size() == 3u);
    const saved_state& scheduler = back->members[2];
    BOOST_TEST(scheduler.number == 40u);
    BOOST_TEST(scheduler.milestones == 4u);
    BOOST_TEST(scheduler.part.names == (std::vector<std::string>{"b", "r"}),
               boost::test_tools::per_element());
    BOOST_TEST(scheduler.part.tensors[0].values<double>()[1] == 2.0);
    BOOST_TEST(scheduler.part.tensors[1].values<std::int64_t>()[0] == -3);
    BOOST_REQUIRE(scheduler.phases.size() == 2u);
    BOOST_TEST(scheduler.phases[0].content.at(0).values<double>()[0] == 7.0);
    BOOST_TEST(scheduler.phases[1].is_probe);
    BOOST_TEST(scheduler.phases[1].number == 41u);
    BOOST_REQUIRE(scheduler.deltas.size() == 2u);
    BOOST_TEST(scheduler.deltas[0].changes.at(0).values<double>()[1] == 9.0);
    BOOST_TEST(scheduler.deltas[1].changes.empty());
}

// Together with what its part shares with the end, which is written once.
BOOST_AUTO_TEST_CASE(what_a_scheduler_has_ended_with_comes_back) {
    const temporary_folder folder;
    run_checkpoints store = opened(folder);
    saved_commit commit = commit_at(40);
    saved_state end = commit.members[2];
    end.number = 37;
    end.milestones = 3;
    end.end = {40, true};
    end.part.tensors[0] = numbers({6, 7, 8})[0];
    commit.ends.emplace(2, end);
    const auto saved = store.save(commit).value();
    const auto back = store.latest(memory()).value();
    BOOST_REQUIRE(back->ends.size() == 1u);
    const saved_state& ended = back->ends.at(2);
    BOOST_TEST(ended.number == 37u);
    BOOST_TEST(ended.milestones == 3u);
    BOOST_TEST(ended.end.is_done);
    BOOST_TEST(ended.part.tensors.at(0).values<double>()[2] == 8.0);
    BOOST_TEST(ended.part.tensors.at(1).values<std::int64_t>()[0] == -3);
    BOOST_TEST(back->members[2].part.tensors[0].values<double>()[0] == 1.5);
    const std::string file = text_of(saved / "scheduler-0.safetensors");
    BOOST_TEST(file.find("end.b") != std::string::npos);
    BOOST_TEST(file.find("end.r") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_newest_are_kept_by_their_numbers) {
    const temporary_folder folder;
    run_checkpoints store = opened(folder);
    for (const std::uint64_t number : {9u, 100u, 1000u, 20000u}) {
        BOOST_REQUIRE(store.save(commit_at(number)).ok());
        BOOST_REQUIRE(store.delete_older().ok());
    }
    BOOST_TEST(store.latest(memory()).value()->members[0].number == 20000u);
    std::size_t left = 0;
    for (const auto& entry : std::filesystem::directory_iterator{folder.path() / "saved"})
        left += entry.is_directory() ? 1 : 0;
    BOOST_TEST(left == 2u);
}

BOOST_AUTO_TEST_CASE(one_run_at_a_time_has_the_folder) {
    const temporary_folder folder;
    const run_checkpoints store = opened(folder);
    const auto second = run_checkpoints::open(folder.path() / "saved", 2, {"chain", settings});
    BOOST_REQUIRE(!second.ok());
    BOOST_TEST((second.failure().code() == errc::usage));
}

BOOST_AUTO_TEST_CASE(other_runs_and_damaged_files_are_refused) {
    const temporary_folder folder;
    std::filesystem::path saved;
    {
        run_checkpoints store = opened(folder);
        saved = store.save(commit_at(40)).value();
    }
    const std::string advice = "; give what was, or name another checkpoint.directory";
    BOOST_TEST(
        refusal(opened(folder, {{"program.chain.length", "5"}, {"seed", "1"}, {"stop", "x"}})) ==
        saved.string() +
            ": is of another run: program.chain.length was 4 and is 5, stop "
            "was absent and is x" +
            advice);
    BOOST_TEST(
        refusal(opened(folder, {{"a", "1"}, {"b", "1"}, {"c", "1"}})) ==
        saved.string() +
            ": is of another run: program.chain.length was 4 and is absent, "
            "seed was 1 and is absent, a was absent and is 1, b was absent and is 1, and 1 more "
            "differ" +
            advice);
    const std::string manifest = text_of(saved / "manifest.json");
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = manifest;
        const auto at = text.find(from);
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, from);
        text.replace(at, from.size(), to);
        std::ofstream{saved / "manifest.json"} << text;
        const std::string said = refusal(opened(folder));
        BOOST_TEST(said.find('\n') == std::string::npos);
        return said;
    };
    BOOST_TEST(
        with("\"program\": \"chain\"", "\"program\": \"other\"")
            .ends_with(": is of the program \"other\", and this app file's is \"chain\"; name "
                       "another checkpoint.directory"));
    BOOST_TEST(with("\"program\": \"chain\"", "\"program\": 7").find("names no program") !=
               std::string::npos);
    BOOST_TEST(with("\"seed\": \"1\"", "\"seed\": [\"\\u001b\"]")
                   .find("seed was [\"\\u001b\"] and is 1") != std::string::npos);
    BOOST_TEST(
        with("\"settings\": {", "\"settings\": 0, \"other\": {").find("its settings are none") !=
        std::string::npos);
    BOOST_TEST(with("\"workers\": 2", "\"workers\": 3").find("members") != std::string::npos);
    BOOST_TEST(with("\"workers\": 2", "\"workers\": \"2\"").find("members") != std::string::npos);
    BOOST_TEST(
        with("worker-0.safetensors", "../worker-0.safetensors").find("worker-0 is not described") !=
        std::string::npos);
    BOOST_TEST(
        with("\"kind\": \"deltas\"", "\"kind\": \"delta\"").find("scheduler-0 is not described") !=
        std::string::npos);
    BOOST_TEST(with("\"tensors\": 1", "\"tensors\": 100000").find("scheduler-0 is not described") !=
               std::string::npos);
    BOOST_TEST(with("\"tensors\": 1", "\"tensors\": 3").find("no tensor phase.40.1") !=
               std::string::npos);
    BOOST_TEST(with("\"b\"", "\"c\"").find("no tensor part.c") != std::string::npos);
    BOOST_TEST(with("\"job\": \"program\"", "\"job\": 5").find("not of a program") !=
               std::string::npos);
    BOOST_TEST(with("\"window\": 4", "\"window\": 65").find("window") != std::string::npos);
    BOOST_TEST(with("\"gap\": 0.001", "\"gap\": \"0.001\"").find("gap") != std::string::npos);
    BOOST_TEST(with("\"format_version\": 6", "\"format_version\": 5").find("another build") !=
               std::string::npos);
    BOOST_TEST(with("{", "[").find("manifest.json is damaged") != std::string::npos);
    std::ofstream{saved / "manifest.json"} << manifest;
    BOOST_TEST(refusal(opened(folder)) == "taken");
    std::ofstream{saved / "worker-1.safetensors", std::ios::app} << 'x';
    BOOST_TEST(refusal(opened(folder)).find("worker-1.safetensors: damaged") != std::string::npos);
    std::filesystem::remove(saved / "worker-1.safetensors");
    BOOST_TEST(refusal(opened(folder)).find("worker-1.safetensors") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_with_the_same_data_from_wherever_it_is) {
    const temporary_folder folder;
    const auto of = [&](const std::string& x, std::uint64_t digest,
                        const std::string& y = "y") -> run_checkpoints {
        return run_checkpoints::open(folder.path() / "saved", 2,
                                     {"chain",
                                      {{"data.x", x}, {"data.y", y}, {"seed", "1"}},
                                      {{"data.y", y, 7}, {"data.x", x, digest}}})
            .value();
    };
    const std::filesystem::path saved = of("a", 0xffffffffffffffffu).save(commit_at(40)).value();
    const std::string advice = "; give the data of then, or name another checkpoint.directory";
    BOOST_TEST(refusal(of("a", 0xffffffffffffffffu)) == "taken");
    BOOST_TEST(refusal(of("b", 0xffffffffffffffffu, "c")) == "taken");
    BOOST_TEST(refusal(of("a", 1)) ==
               saved.string() + ": is of other data: data.x: a has changed since" + advice);
    BOOST_TEST(refusal(of("b", 1)) ==
               saved.string() + ": is of other data: data.x: b does not hold what a did" + advice);
    const std::string manifest = text_of(saved / "manifest.json");
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = manifest;
        const auto at = text.find(from);
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, from);
        text.replace(at, from.size(), to);
        std::ofstream{saved / "manifest.json"} << text;
        return refusal(of("b", 0xffffffffffffffffu));
    };
    BOOST_TEST(with("\"ffffffffffffffff\"", "5").find("its data is none") != std::string::npos);
    BOOST_TEST(with("\"data\": {", "\"data\": 5, \"no\": {").find("data.x was a and is b") !=
               std::string::npos);
    // Former builds wrote the names alone.
    BOOST_TEST(with("\"data\": {", "\"no\": {").find("of another run: data.x was a and is b; ") !=
               std::string::npos);
    BOOST_TEST(refusal(of("a", 5)) == "taken");
}

BOOST_AUTO_TEST_CASE(a_run_on_numbers_with_other_digits_is_refused) {
    const temporary_folder folder;
    const auto of = [&](std::optional<std::uint64_t> exact, bool has_more_digits) {
        return run_checkpoints::open(folder.path() / "saved", 2,
                                     {"chain", {}, {{"data.x", "a", 7, exact, has_more_digits}}})
            .value();
    };
    const std::string saved = of(1, true).save(commit_at(40)).value().string();
    const std::string anew = "; begin the run anew, with another checkpoint.directory";
    BOOST_TEST(refusal(of(1, true)) == "taken");
    BOOST_TEST(refusal(of(2, true)) ==
               saved +
                   ": is of other digits: data.x: a has changed since, by less than float32 "
                   "tells, or was read by a former build" +
                   anew);
}

BOOST_AUTO_TEST_CASE(one_of_a_former_build_which_knew_no_bounds_of_programs_is_taken) {
    const temporary_folder folder;
    run_checkpoints store = opened(folder);
    const auto manifest = store.save(commit_at(40)).value() / "manifest.json";
    std::string text = text_of(manifest);
    for (const std::string key : {"length", "iterations", "data"}) {
        const auto at = text.find('"' + key + '"');
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, key);
        text.insert(at + 1, "no ");
    }
    std::ofstream{manifest} << text;
    BOOST_TEST(refusal(store) == "taken");
}

BOOST_AUTO_TEST_CASE(of_a_damaged_one_the_newest_that_is_whole_is_named) {
    const temporary_folder folder;
    auto store = run_checkpoints::open(folder.path() / "saved", 9, {"chain", settings}).value();
    std::vector<std::filesystem::path> saved;
    for (const std::uint64_t number : {20u, 40u, 60u, 80u})
        saved.push_back(store.save(commit_at(number)).value());
    const auto damage = [&](std::size_t i) {
        std::ofstream{saved[i] / "scheduler-0.safetensors", std::ios::app} << 'x';
    };
    damage(3);
    std::filesystem::remove(saved[2] / "worker-0.safetensors");
    const std::string said = refusal(store);
    BOOST_TEST(said.starts_with((saved[3] / "scheduler-0.safetensors").string()), said);
    BOOST_TEST(said.ends_with("; to go on from " + saved[1].string() + ", which is whole, move " +
                              saved[3].string() + " elsewhere and use --resume again"),
               said);
    damage(0);
    damage(1);
    BOOST_TEST(refusal(store).ends_with("with another checkpoint.directory"));
    memory_pool little{16}; // in which no checkpoint has room: another one is no way out
    store.save(commit_at(100)).value();
    const auto loaded = store.latest(little);
    BOOST_REQUIRE(!loaded.ok());
    BOOST_TEST((loaded.failure().code() == errc::exhausted));
    BOOST_TEST(loaded.failure().message().find("earlier") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

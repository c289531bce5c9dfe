#include "tests/unit/actors_checkpoint/store_fixture.hpp"

using namespace troupe;
using namespace troupe::test;
namespace fs = std::filesystem;

BOOST_FIXTURE_TEST_SUITE(manifests, store_fixture)

// As it was while all minibatches of a run were of one size.
BOOST_AUTO_TEST_CASE(a_manifest_need_not_name_the_minibatches_of_the_epoch) {
    auto store = open();
    const auto saved = *save(store, progress_of(1, 150), 1);
    std::string manifest = read(saved.folder / "manifest.json");
    const std::string line = "  \"minibatches_of_epoch\": 50,\n";
    const std::size_t at = manifest.find(line);
    BOOST_REQUIRE(at != std::string::npos);
    const auto rewrite = [&](const std::string& with) {
        std::string text = manifest;
        std::ofstream{saved.folder / "manifest.json", std::ios::binary}
            << text.replace(at, line.size(), with);
        return read_manifest(saved.folder);
    };
    BOOST_TEST(rewrite("")->progress.minibatches_of_epoch == 50u);
    BOOST_TEST(rewrite("  \"minibatches_of_epoch\": 20,\n")->progress.minibatches_of_epoch == 20u);
    BOOST_TEST(rewrite("  \"minibatches_of_epoch\": 151,\n")
                   .failure()
                   .message()
                   .find("more than minibatches_done") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_manifest_need_not_say_how_many_epochs_the_run_was_to_have) {
    auto store = open();
    checkpoint_progress progress = progress_of(1, 100);
    progress.epochs = 7;
    const auto saved = *save(store, progress, 1);
    BOOST_TEST((store.latest()->value().progress == progress));
    const std::string manifest = read(saved.folder / "manifest.json");
    const auto with = [&](const std::string& to) {
        std::string text = manifest;
        const std::string line = "  \"epochs\": 7,\n";
        BOOST_REQUIRE(text.find(line) != std::string::npos);
        overwrite(saved.folder / "manifest.json", text.replace(text.find(line), line.size(), to));
        return read_manifest(saved.folder);
    };
    BOOST_TEST(with("")->progress.epochs == 0u);
    for (const char* none : {"-1", "4294967296", "7.5", "\"7\"", "null"})
        BOOST_TEST(with("  \"epochs\": " + std::string{none} + ",\n")
                       .failure()
                       .message()
                       .ends_with("epochs is no number of epochs"));
}

BOOST_AUTO_TEST_CASE(the_hash_of_the_vocabulary_is_kept_where_there_is_one) {
    auto store = open();
    checkpoint_progress progress = progress_of(1, 100);
    progress.vocabulary_sha256 = std::string(64, '7');
    const auto saved = *save(store, progress, 1);
    BOOST_TEST((store.latest()->value().progress == progress));
    const std::string manifest = read(saved.folder / "manifest.json");
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = manifest;
        BOOST_REQUIRE(text.find(from) != std::string::npos);
        overwrite(saved.folder / "manifest.json", text.replace(text.find(from), from.size(), to));
        return read_manifest(saved.folder);
    };
    // As it was before it was kept.
    const std::string version = "\"format_version\": ";
    overwrite(saved.folder / "manifest.json", manifest);
    const auto earlier = with(version + "3", version + "1");
    BOOST_TEST(earlier.ok());
    const std::string line = ",\n  \"vocabulary_sha256\": \"" + progress.vocabulary_sha256 + "\"";
    BOOST_TEST(with(line, "")->progress.vocabulary_sha256.empty());
    BOOST_TEST(with("\"" + progress.vocabulary_sha256, "\"7")
                   .failure()
                   .message()
                   .ends_with("vocabulary_sha256 is no hash"));
    BOOST_TEST(!with("\"" + progress.vocabulary_sha256 + "\"", "7").ok());
}

// Of builds that took the version for the number of updates.
BOOST_AUTO_TEST_CASE(a_manifest_of_an_earlier_format_has_no_counts_and_the_version_is_taken) {
    auto store = open();
    const auto saved = *save(store, progress_of(1, 150), 2);
    const std::string manifest = read(saved.folder / "manifest.json");
    const std::vector<parameter_info> parameters = {{"layers.0.weight", {2, 3}},
                                                    {"layers.1.bias", {2}}};
    memory_pool memory{1 << 20};
    for (const char* version : {"1", "2", "3"}) {
        std::string text = manifest;
        const bool counts = std::string{version} == "3";
        text.replace(text.find("\"format_version\": 3") + 18, 1, version);
        for (std::size_t at = 0; !counts && (at = text.find("\"updates\"")) != std::string::npos;)
            text.replace(at, 9, "\"nothing\""); // what it does not know
        overwrite(saved.folder / "manifest.json", text);
        const auto info = read_manifest(saved.folder);
        BOOST_REQUIRE(info.ok());
        BOOST_TEST(info->counts_updates == counts);
        const auto restored = load_checkpoint(*info)->restore({parameters, {}, velocity}, memory);
        BOOST_REQUIRE(restored.ok());
        BOOST_TEST(((*restored)->updates == (counts ? std::vector<std::uint64_t>{10, 22}
                                                    : std::vector<std::uint64_t>{150, 150})));
    }
}

BOOST_AUTO_TEST_CASE(counts_that_lack_a_parameter_do_not_restore_it) {
    auto store = open();
    const auto saved = *save(store, progress_of(1, 150), 2);
    std::string text = read(saved.folder / "manifest.json");
    text.replace(text.find("\"layers.1.bias\""), 15, "\"layers.9.bias\"");
    overwrite(saved.folder / "manifest.json", text);
    const auto loaded = load_checkpoint(*read_manifest(saved.folder));
    memory_pool memory{1 << 20};
    const std::vector<parameter_info> weight = {{"layers.1.weight", {2, 3}}},
                                      bias = {{"layers.1.bias", {2}}};
    BOOST_TEST(loaded->restore({weight, {}, {}}, memory).ok());
    BOOST_TEST(loaded->restore({bias, {}, {}}, memory).failure().message() ==
               saved.folder.string() +
                   ": the manifest has no count of the updates of layers.1.bias");
}

BOOST_AUTO_TEST_CASE(foreign_manifests_are_refused) {
    auto store = open();
    const auto info = *save(store, progress_of(1, 100), 1);
    const fs::path file = info.folder / "manifest.json";
    const std::string good = read(file);
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        BOOST_REQUIRE_MESSAGE(text.find(from) != std::string::npos, from);
        overwrite(file, text.replace(text.find(from), from.size(), to));
        const auto latest = store.latest();
        BOOST_REQUIRE_MESSAGE(!latest.ok(), to);
        BOOST_TEST(latest.failure().message().starts_with(file.string() +
                                                          ": not a usable checkpoint manifest: "));
        BOOST_TEST(latest.failure().message().ends_with("; delete or mend this checkpoint"));
    };
    with(good, "");
    with(good, "[]");
    with(good, std::string(100000, '['));
    with(good, good.substr(0, good.size() / 2));
    with("troupe-checkpoint", "other");
    with("\"format_version\": 3", "\"format_version\": 4");
    with("\"format_version\": 3", "\"format_version\": 0");
    with("\"updates\": 10", "\"updates\": -1");
    with("\"updates\": 10", "\"updates\": 1.5");
    with("\"updates\": 10", "\"updates\": \"10\"");
    with("\"updates\": 10", "\"updates\": [10, 10]");
    with("\"updates\": 10", "\"updates\": 18446744073709551616");
    with("\"updates\": 10", "\"updates\": 18446744073709551615"); // the next one would be 0
    with("\"updates\": 10", "\"updates\": {\"layers.0.weight\": 9007199254740993}");
    with("\"updates\": 10", "\"updates\": {\"layers.0.weight\": -1}");
    with("\"updates\": 10", "\"updates\": {\"layers.0.weight\": {}}");
    with("\"updates\"", "\"update\"");
    with("\"epochs_done\": 1", "\"epochs_done\": -1");
    with("\"epochs_done\": 1", "\"epochs_done\": 4294967296");
    with("\"seed\": 42", "\"seed\": \"42\"");
    with("linear", "conv2d");
    with("stage-0-of-1.safetensors", "../../secret.safetensors");
    with("\"first_layer\": 0", "\"first_layer\": 1");
    with("\"layers\": 1", "\"layers\": 0");
    with("\"sha256\": \"", "\"sha256\": \"G");
    with("\"stages\"", "\"stagse\"");
}

BOOST_AUTO_TEST_SUITE_END()

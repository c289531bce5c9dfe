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
    const auto earlier = with(version + "2", version + "1");
    BOOST_TEST(earlier.ok());
    const std::string line = ",\n  \"vocabulary_sha256\": \"" + progress.vocabulary_sha256 + "\"";
    BOOST_TEST(with(line, "")->progress.vocabulary_sha256.empty());
    BOOST_TEST(with("\"" + progress.vocabulary_sha256, "\"7")
                   .failure()
                   .message()
                   .ends_with("vocabulary_sha256 is no hash"));
    BOOST_TEST(!with("\"" + progress.vocabulary_sha256 + "\"", "7").ok());
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
    with("\"format_version\": 2", "\"format_version\": 3");
    with("\"format_version\": 2", "\"format_version\": 0");
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

// Fuzz target: arbitrary bytes as an app file.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "actors/training/plan/training_app.hpp"
#include "tests/fuzz/target.hpp"

namespace troupe::fuzz {

namespace {

// Beside those that apps build on.
constexpr const char* file = TROUPE_SOURCE_ROOT "/apps/fashion_mnist/fuzzed.yaml";
constexpr std::uint64_t train_samples = 1000;

void check_answer(const result<void>& answer) {
    if (!answer)
        check_refusal(answer.failure());
}

} // namespace

bool read(std::span<const std::byte> in) {
    const auto app = parse_training(text_of(in), file);
    if (!app) {
        check_refusal(app.failure());
        return false;
    }
    check_answer(app->check_training(train_samples));
    check_answer(app->check_causal());
    for (const std::string& note : app->notes(train_samples))
        check_refusal({errc::usage, note});
    const std::string rendered = render_app(app->app());
    const auto again = parse_training(rendered, file);
    TROUPE_CHECK(again.ok(), "what is rendered is an app file");
    TROUPE_CHECK(render_app(again->app()) == rendered, "what is rendered is the same app");
    return true;
}

std::vector<std::string> sound_inputs() {
    std::vector<std::filesystem::path> files;
    for (const char* folder : {"/apps", "/tests/interop/models"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator{
                 std::string{TROUPE_SOURCE_ROOT} + folder})
            if (entry.path().extension() == ".yaml")
                files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<std::string> all;
    for (const auto& path : files) {
        std::ifstream in{path, std::ios::binary};
        std::string text{std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
        if (text.find("\nprogram:") == std::string::npos) // those are of fuzz_program_app
            all.push_back(std::move(text));
    }
    return all;
}

} // namespace troupe::fuzz

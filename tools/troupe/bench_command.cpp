// bench: hands over to the benchmarks' runner in the source tree, which measures this program beside its peers.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/troupe/commands.hpp"
#include "tools/troupe/standard_output.hpp"

namespace troupe::cli {

int bench(const std::vector<std::string>& given) {
    const std::filesystem::path runner = TROUPE_BENCH_RUNNER;
    std::error_code failed;
    if (!std::filesystem::exists(runner, failed))
        return report({errc::usage, "bench: " + runner.string() +
                                        " is not there; benchmarks run from the source tree"});
    std::vector<std::string> words{"python3", runner.string(), "--build", TROUPE_BUILD_FOLDER};
    words.insert(words.end(), given.begin(), given.end());
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    give_back_standard_output();
    execvp("python3", arguments.data());
    return report({errc::io, std::string{"bench: cannot start python3: "} + std::strerror(errno)});
}

} // namespace troupe::cli

#include "actors/data/samples/parallel_text.hpp"

#include <algorithm>

#include "actors/data/files/input_file.hpp"

namespace troupe {

namespace {

// Lines without their line ends; the last line may have none.
std::vector<std::string_view> lines_of(const std::vector<std::uint8_t>& bytes) {
    std::string_view rest{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    std::vector<std::string_view> lines;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        lines.push_back(line);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return lines;
}

void add(std::string_view source, std::string_view target, std::vector<sentence_pair>& pairs) {
    if (!source.empty() && !target.empty())
        pairs.push_back({source, target});
}

// Splits every line into its two sentences.
result<void> split_lines(const whole_file& both, std::vector<sentence_pair>& pairs) {
    const auto lines = lines_of(both.bytes);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string_view line = lines[i];
        const std::size_t tab = line.find('\t');
        if (tab == std::string_view::npos && !line.empty())
            return both.in.fail(
                static_cast<std::uint64_t>(line.data() -
                                           reinterpret_cast<const char*>(both.bytes.data())),
                "line " + std::to_string(i + 1) +
                    " has no tab between two sentences; put one in, or give the other language "
                    "as a file of its own");
        if (line.empty())
            continue;
        const std::string_view target = line.substr(tab + 1);
        add(line.substr(0, tab), target.substr(0, std::min(target.find('\t'), target.size())),
            pairs);
    }
    return {};
}

result<void> join_lines(const whole_file& source, const whole_file& target,
                        std::vector<sentence_pair>& pairs) {
    const auto sources = lines_of(source.bytes);
    const auto targets = lines_of(target.bytes);
    if (sources.size() != targets.size())
        return target.in.fail(target.bytes.size(),
                              "ends after " + std::to_string(targets.size()) + " lines, but " +
                                  source.in.name() + " has " + std::to_string(sources.size()) +
                                  "; every line is the translation of the other file's");
    for (std::size_t i = 0; i < sources.size(); ++i)
        add(sources[i], targets[i], pairs);
    return {};
}

} // namespace

result<parallel_text> read_parallel_text(const std::filesystem::path& source,
                                         const std::filesystem::path& target) {
    parallel_text text;
    auto first = read_whole(source);
    if (!first)
        return first.failure();
    if (target.empty()) {
        if (auto split = split_lines(*first, text.pairs); !split)
            return split.failure();
    } else {
        auto second = read_whole(target);
        if (!second)
            return second.failure();
        if (auto joined = join_lines(*first, *second, text.pairs); !joined)
            return joined.failure();
        text.target_bytes = std::move(second->bytes);
    }
    if (text.pairs.empty())
        return first->in.fail(0, "the file holds no pair of sentences");
    text.source_bytes = std::move(first->bytes);
    return text;
}

} // namespace troupe

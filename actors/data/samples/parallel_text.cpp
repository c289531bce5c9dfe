#include "actors/data/samples/parallel_text.hpp"

#include <algorithm>

#include "actors/data/files/line_reader.hpp"
#include "actors/data/files/text_number.hpp"
#include "actors/data/files/utf8_text.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

struct text_lines {
    std::vector<char> text; // one line behind the other
    std::vector<std::size_t> ends;

    std::string_view operator[](std::size_t line) const {
        const std::size_t first = line == 0 ? 0 : ends[line - 1];
        return std::string_view{text.data(), text.size()}.substr(first, ends[line] - first);
    }
};

// `check`: why the line cannot be taken, or empty.
template <class Check>
result<text_lines> read_lines(line_reader& reader, Check check) {
    text_lines lines;
    const auto read = for_each_line(reader, [&](std::string_view line) {
        lines.text.insert(lines.text.end(), line.begin(), line.end());
        lines.ends.push_back(lines.text.size());
        std::string why = why_not_utf8(line);
        return why.empty() ? check(line) : why;
    });
    if (!read)
        return read.failure();
    return lines;
}

void add(std::string_view source, std::string_view target, parallel_text& to) {
    const bool has_source = !trimmed(source).empty(), has_target = !trimmed(target).empty();
    if (has_source && has_target)
        to.pairs.push_back({source, target});
    else if (has_source || has_target)
        ++to.half_empty;
}

// Splits every line into its two sentences.
result<void> split_lines(line_reader& both, parallel_text& to) {
    auto lines = read_lines(both, [](std::string_view line) -> std::string {
        return trimmed(line).empty() || line.find('\t') != std::string_view::npos
                   ? ""
                   : "no tab between two sentences; put one in, or give the other language as a "
                     "file of its own";
    });
    if (!lines)
        return lines.failure();
    for (std::size_t i = 0; i < lines->ends.size(); ++i) {
        const std::string_view line = (*lines)[i];
        const std::size_t tab = std::min(line.find('\t'), line.size());
        const std::string_view target = line.substr(std::min(tab + 1, line.size()));
        add(line.substr(0, tab), target.substr(0, target.find('\t')), to);
    }
    to.source_text = std::move(lines->text);
    return {};
}

result<void> join_lines(line_reader& source, line_reader& target, parallel_text& to) {
    const auto any = [](std::string_view) { return std::string{}; };
    auto sources = read_lines(source, any);
    if (!sources)
        return sources.failure();
    auto targets = read_lines(target, any);
    if (!targets)
        return targets.failure();
    if (sources->ends.size() != targets->ends.size())
        return target.fail("the file ends after " + counted(targets->ends.size(), "line") +
                           ", but " + source.name() + " has " +
                           std::to_string(sources->ends.size()) +
                           "; every line is the translation of the other file's");
    for (std::size_t i = 0; i < sources->ends.size(); ++i)
        add((*sources)[i], (*targets)[i], to);
    to.source_text = std::move(sources->text);
    to.target_text = std::move(targets->text);
    return {};
}

} // namespace

result<parallel_text> read_parallel_text(const std::string& source, const std::string& target) {
    parallel_text text;
    auto first = line_reader::open(source);
    if (!first)
        return first.failure();
    if (target.empty()) {
        if (auto split = split_lines(*first, text); !split)
            return split.failure();
    } else {
        auto second = line_reader::open(target);
        if (!second)
            return second.failure();
        if (auto joined = join_lines(*first, *second, text); !joined)
            return joined.failure();
    }
    if (text.pairs.empty())
        return first->fail("no line has a sentence and its translation; give some that have both");
    return text;
}

} // namespace troupe

#include "actors/data/samples/parallel_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

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

bool is_enclosed(std::string_view text, char first, char last) {
    return text.size() > 1 && text.starts_with(first) && text.ends_with(last);
}

// Why a file with this first line has no sentences in its lines, or empty.
std::string why_no_sentences(std::string_view first_line) {
    const std::string_view text = trimmed(first_line);
    if (is_enclosed(text, '<', '>'))
        return "markup, such as XML, SGML or TMX, which is not read; give a file with a sentence a "
               "line";
    if (is_enclosed(text, '{', '}') || text == "{" || text == "[")
        return "JSON, which is not read; give a file with a sentence a line";
    return {};
}

// `check`: why the line cannot be taken, or empty.
template <class Check>
result<text_lines> read_lines(line_reader& reader, Check check) {
    text_lines lines;
    const auto read = for_each_line(reader, [&](std::string_view line) {
        lines.text.insert(lines.text.end(), line.begin(), line.end());
        lines.ends.push_back(lines.text.size());
        std::string why = why_not_utf8(line);
        if (why.empty() && lines.ends.size() == 1)
            why = why_no_sentences(line);
        return why.empty() ? check(line) : why;
    });
    if (!read)
        return read.failure();
    return lines;
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

struct skipped_text {
    std::size_t half_empty = 0;  // pairs of which one sentence is empty
    std::size_t third_texts = 0; // lines with text behind a second tab
};

void add(std::string_view source, std::string_view target, parallel_text& to,
         skipped_text& skipped) {
    const bool has_source = has_visible_text(source), has_target = has_visible_text(target);
    if (has_source && has_target)
        to.pairs.push_back({source, target});
    else if (has_source || has_target)
        ++skipped.half_empty;
}

// As CSV writes a text with a quotation mark in it.
bool is_quoted_cell(std::string_view text) {
    return text.size() > 3 && is_enclosed(text, '"', '"') &&
           text.substr(1, text.size() - 2).find("\"\"") != std::string_view::npos;
}

bool is_name_of_column(std::string_view text) {
    constexpr std::string_view names[] = {"source", "target",   "src",        "tgt",
                                          "trg",    "sentence", "translation"};
    const auto is_code = [](char c) { return c >= 'a' && c <= 'z'; };
    return std::ranges::find(names, lower_case(text)) != std::end(names) ||
           (text.size() == 2 && std::ranges::all_of(text, is_code)); // of a language
}

bool is_sentence_number(std::string_view text) {
    const std::string_view digits = trimmed(text);
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

// Numbers of sentences, as some tables of pairs have them.
bool has_numbers(const parallel_text& text, std::string_view sentence_pair::*side) {
    return std::ranges::all_of(text.pairs,
                               [&](const auto& pair) { return is_sentence_number(pair.*side); });
}

bool has_numbers(const parallel_text& text) {
    return has_numbers(text, &sentence_pair::source) || has_numbers(text, &sentence_pair::target);
}

// Each one more than that of the pair before: numbers of rows, and no text about numbers.
bool are_counted(const parallel_text& text, std::string_view sentence_pair::*side) {
    std::uint64_t last = 0;
    bool is_first = true;
    return std::ranges::all_of(text.pairs, [&](const auto& pair) {
        const std::string_view digits = trimmed(pair.*side);
        const std::uint64_t before = std::exchange(last, 0);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), last);
        return read.ec == std::errc{} && read.ptr == digits.data() + digits.size() &&
               (std::exchange(is_first, false) || last == before + 1);
    });
}

// Notes say what is left out, and what may be meant in another way than it is taken.
void note_doubts(const skipped_text& skipped, parallel_text& text) {
    const std::string of_all = " of " + std::to_string(text.pairs.size() + skipped.half_empty);
    if (skipped.half_empty > 0)
        text.notes.push_back(std::to_string(skipped.half_empty) + of_all +
                             " pairs have one sentence, and are left out");
    if (skipped.third_texts > 0)
        text.notes.push_back(counted(skipped.third_texts, "line") +
                             " with text behind a second tab, which is left out");
    const auto& [source, target] = text.pairs.front();
    if (is_name_of_column(source) && is_name_of_column(target))
        text.notes.push_back("the first pair is " + troupe::quoted(source) + " and " +
                             troupe::quoted(target) +
                             ", which is taken for sentences; if these are names of columns, take "
                             "the line out");
    const auto quotations = std::ranges::count_if(text.pairs, [](const sentence_pair& pair) {
        return is_quoted_cell(pair.source) || is_quoted_cell(pair.target);
    });
    if (quotations > 0)
        text.notes.push_back(
            std::to_string(quotations) + " of " + std::to_string(text.pairs.size()) +
            " pairs have quotation marks around and doubled ones within, as in CSV, which are "
            "taken for parts of their sentences");
    if (are_counted(text, &sentence_pair::source) || are_counted(text, &sentence_pair::target))
        text.notes.push_back("the sentences of one language are numbers in order; is this a table "
                             "with numbers of its rows?");
    if (std::ranges::all_of(text.pairs, [](const auto& p) { return p.source == p.target; }))
        text.notes.push_back("every sentence is its own translation; are these two languages?");
}

// Splits every line into its two sentences.
result<void> split_lines(line_reader& both, parallel_text& to, skipped_text& skipped) {
    auto lines = read_lines(both, [](std::string_view line) -> std::string {
        return !has_visible_text(line) || line.find('\t') != std::string_view::npos
                   ? ""
                   : "no tab between two sentences; put one in, or give the other language as a "
                     "file of its own";
    });
    if (!lines)
        return lines.failure();
    for (std::size_t i = 0; i < lines->ends.size(); ++i) {
        const std::string_view line = (*lines)[i];
        const std::size_t tab = std::min(line.find('\t'), line.size());
        const std::string_view rest = line.substr(std::min(tab + 1, line.size()));
        const std::string_view target = rest.substr(0, rest.find('\t'));
        add(line.substr(0, tab), target, to, skipped);
        skipped.third_texts += has_visible_text(rest.substr(target.size())) ? 1 : 0;
    }
    to.source_text = std::move(lines->text);
    if (!to.pairs.empty() && skipped.third_texts > 0 && has_numbers(to))
        return both.fail("one of the first two columns has numbers alone; cut out the columns of "
                         "the sentences, as by cut -f 2,4 FILE > OTHER");
    return {};
}

// True if there are columns in a file of one language.
bool has_columns(const text_lines& lines) {
    std::size_t filled = 0, with_tab = 0;
    for (std::size_t i = 0; i < lines.ends.size(); ++i) {
        const std::string_view line = trimmed(lines[i]);
        filled += line.empty() ? 0 : 1;
        with_tab += line.find('\t') == std::string_view::npos ? 0 : 1;
    }
    return filled > 0 && with_tab == filled;
}

result<void> join_lines(line_reader& source, line_reader& target, parallel_text& to,
                        skipped_text& skipped) {
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
    for (const auto& [reader, lines] : {std::pair{&source, &*sources}, {&target, &*targets}})
        if (has_columns(*lines))
            return reader->fail("every line has a tab, as if it were a table; give a file with the "
                                "sentences alone, or, of both languages, without the other file");
    for (std::size_t i = 0; i < sources->ends.size(); ++i)
        add((*sources)[i], (*targets)[i], to, skipped);
    to.source_text = std::move(sources->text);
    to.target_text = std::move(targets->text);
    return {};
}

} // namespace

result<parallel_text> read_parallel_text(const std::string& source, const std::string& target) {
    parallel_text text;
    skipped_text skipped;
    auto first = line_reader::open(source);
    if (!first)
        return first.failure();
    if (target.empty()) {
        if (auto split = split_lines(*first, text, skipped); !split)
            return split.failure();
    } else {
        auto second = line_reader::open(target);
        if (!second)
            return second.failure();
        if (auto joined = join_lines(*first, *second, text, skipped); !joined)
            return joined.failure();
    }
    if (text.pairs.empty())
        return first->fail("no line has a sentence and its translation; give some that have both");
    note_doubts(skipped, text);
    return text;
}

} // namespace troupe

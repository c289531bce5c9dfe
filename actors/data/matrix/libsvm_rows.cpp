#include "actors/data/matrix/libsvm_rows.hpp"

#include <algorithm>
#include <charconv>

#include "actors/data/files/text_number.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

std::string_view without_comment(std::string_view line) {
    return trimmed(line.substr(0, std::min(line.find('#'), line.size())));
}

// INDEX:VALUE, or a query's
bool is_pair(std::string_view word) {
    const std::string_view index = word.substr(0, word.find(':'));
    return index.size() < word.size() && (index == "qid" || whole_number(index));
}

// With numbers for values, so that no table of anything else is taken for it.
bool are_pairs(std::string_view words) {
    if (words.empty())
        return false;
    while (!words.empty()) {
        const std::string_view word = take_word(words);
        if (!is_pair(word) || !text_number(word.substr(word.find(':') + 1)))
            return false;
    }
    return true;
}

} // namespace

bool looks_like_libsvm(std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        line = without_comment(line);
        const std::string_view label = take_word(line);
        if (label.empty() || (line.empty() && text_number(label)))
            continue;
        if (text_number(label))
            return is_pair(take_word(line));
        const bool is_label = label.find(':') == std::string_view::npos;
        return (is_label || is_pair(label)) && are_pairs(line);
    }
    return false;
}

result<libsvm_rows> libsvm_rows::open(const std::string& path) {
    auto lines = line_reader::open(path);
    if (!lines)
        return lines.failure();
    return libsvm_rows{path, std::move(*lines)};
}

result<void> libsvm_rows::rewind() {
    auto again = line_reader::open(path_);
    if (!again)
        return again.failure();
    lines_ = std::move(*again);
    return {};
}

result<bool> libsvm_rows::append_row(row_block& to) {
    std::string_view text;
    while (text.empty()) {
        const auto line = lines_.next();
        if (!line)
            return line.failure();
        if (!*line)
            return false;
        text = without_comment(**line);
    }
    const std::string_view label = take_word(text);
    const auto target = text_number(label);
    if (!target)
        return fail(label.find(',') != std::string_view::npos
                        ? "a list of labels " + quoted(label) + "; a row has one"
                    : label.find(':') != std::string_view::npos
                        ? "no label before " + quoted(label) + "; a line begins with one"
                        : "the label: " + why_no_number(label));
    std::int32_t last = 0;
    while (!text.empty())
        if (auto appended = append_entry(take_word(text), last, to); !appended)
            return appended.failure();
    to.targets.push_back(*target);
    return true;
}

result<void> libsvm_rows::append_entry(std::string_view written, std::int32_t& last,
                                       row_block& to) {
    const std::size_t colon = written.find(':');
    if (colon == std::string_view::npos)
        return fail(quoted(written) + " is no INDEX:VALUE; separate an index and its value by a "
                                      "colon, and pairs by blanks");
    const std::string_view digits = written.substr(0, colon);
    if (digits == "qid")
        return fail("queries (qid) are for ranking, which no program does; leave them out");
    std::int64_t index = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (failed != std::errc{} || end != digits.data() + digits.size())
        return fail("the index " + quoted(digits) + " is not a whole number");
    if (index == 0)
        return fail("an index of 0; indices count from 1: add 1 to all (scikit-learn writes such a "
                    "file with zero_based=False)");
    if (index < 0 || static_cast<std::uint64_t>(index) > limits::matrix_columns_max)
        return fail("the index " + quoted(digits) + "; indices are 1 to " +
                    std::to_string(limits::matrix_columns_max));
    if (index <= last)
        return fail("the index " + std::to_string(index) +
                    (index == last ? " twice; leave one of them out"
                                   : " after " + std::to_string(last) +
                                         "; write the pairs in the order of their indices"));
    const auto value = text_in_float_range(written.substr(colon + 1));
    if (!value)
        return fail("the value of index " + std::to_string(index) + ": " +
                    why_no_number(written.substr(colon + 1)));
    last = static_cast<std::int32_t>(index);
    to.indices.push_back(last - 1);
    to.values.push_back(*value);
    return {};
}

} // namespace troupe

#include "actors/data/sparse/dictionary.hpp"

#include <set>

#include "actors/data/files/line_reader.hpp"
#include "actors/data/files/text_number.hpp"
#include "actors/data/sparse/document_texts.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

// Distinct entries may have text in common, but not as much as an index that was made to cost time.
constexpr std::uint64_t bytes_of_entries_per_byte_max = 4;

struct index_entry {
    std::string_view headword;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

std::optional<std::uint64_t> number_in_digits_of_64(std::string_view text) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    constexpr std::size_t digits_max = 10; // 60 bits
    if (text.empty() || text.size() > digits_max)
        return std::nullopt;
    std::uint64_t number = 0;
    for (const char c : text) {
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos)
            return std::nullopt;
        number = number << 6 | digit;
    }
    return number;
}

// Takes what is before the next tab, which is taken, too.
std::string_view take_field(std::string_view& line) {
    const std::string_view field = line.substr(0, line.find('\t'));
    line.remove_prefix(std::min(field.size() + 1, line.size()));
    return field;
}

// Why the line is no entry of texts of so many bytes, or empty.
std::string parse_entry(std::string_view line, std::uint64_t bytes, index_entry& entry) {
    entry.headword = take_field(line);
    const std::string_view offset = take_field(line), length = take_field(line);
    const auto first = number_in_digits_of_64(offset), count = number_in_digits_of_64(length);
    if (!first || !count)
        return "an entry is HEADWORD, OFFSET, LENGTH with tabs between them, numbers of the digits "
               "A-Z a-z 0-9 + /; is this the index of a dictd dictionary?";
    if (*first > bytes || *count > bytes - *first)
        return "the entry " + quoted(entry.headword) + " ends at byte " +
               std::to_string(*first + *count) + " of texts of " + std::to_string(bytes) +
               " bytes; fetch both files again";
    entry.offset = *first;
    entry.length = *count;
    return {};
}

class dictionary_reader {
  public:
    dictionary_reader(text_collector words, std::string_view texts)
        : words_{std::move(words)}, texts_{texts} {}

    // Why the line of the index cannot be taken, or empty.
    std::string take(std::string_view line) {
        if (line.empty())
            return {};
        index_entry entry;
        if (std::string why = parse_entry(line, texts_.size(), entry); !why.empty())
            return why;
        const bool is_description =
            entry.headword.starts_with("00-database-") || entry.headword.starts_with("00database");
        if (is_description || !seen_.emplace(entry.offset, entry.length).second)
            return {};
        bytes_ += entry.length;
        if (bytes_ / bytes_of_entries_per_byte_max > texts_.size())
            return "the entries are much longer than the texts; is this the index of another "
                   "dictionary?";
        const std::string why = words_.add(texts_.substr(entry.offset, entry.length));
        const std::string name = printable(entry.headword, limits::name_bytes_max);
        return why.empty() ? words_.end_document(name) : "the text of \"" + name + "\": " + why;
    }

    result<documents> finish(const vocabulary_bounds& bounds) && {
        return std::move(words_).finish(bounds);
    }

  private:
    text_collector words_;
    std::string_view texts_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
    std::uint64_t bytes_ = 0; // of all entries
};

} // namespace

result<std::string> index_of_dictionary(const std::string& texts) {
    std::string_view name = texts;
    if (name.ends_with(".dz"))
        name.remove_suffix(3);
    if (!name.ends_with(".dict"))
        return error{errc::usage, texts + ": the texts of a dictionary are called NAME.dict.dz or "
                                          "NAME.dict, with NAME.index beside them"};
    name.remove_suffix(5);
    return std::string{name} + ".index";
}

result<documents> read_dictionary(const std::string& texts, const std::string& index,
                                  const word_rules& rules, const vocabulary_bounds& bounds) {
    auto words = text_collector::of(rules);
    if (!words)
        return words.failure();
    auto lines = line_reader::open(index);
    if (!lines)
        return lines.failure();
    const auto whole = read_whole(texts);
    if (!whole)
        return whole.failure();
    dictionary_reader reader{
        std::move(*words),
        {reinterpret_cast<const char*>(whole->bytes.data()), whole->bytes.size()}};
    const auto read =
        for_each_line(*lines, [&](std::string_view line) { return reader.take(line); });
    if (!read)
        return read.failure();
    auto all = std::move(reader).finish(bounds);
    return all ? std::move(all) : all.failure().in(texts);
}

} // namespace troupe

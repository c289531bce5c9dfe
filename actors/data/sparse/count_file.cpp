#include "actors/data/sparse/count_file.hpp"

#include <algorithm>
#include <unordered_map>

#include "actors/data/files/line_reader.hpp"
#include "actors/data/files/text_number.hpp"
#include "actors/data/sparse/document_texts.hpp"
#include "actors/data/sparse/word_forms.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

result<std::vector<std::string>> read_vocabulary(const std::string& path) {
    auto lines = line_reader::open(path);
    if (!lines)
        return lines.failure();
    std::vector<std::string> words;
    std::unordered_map<std::string, std::size_t> numbers;
    const auto read = for_each_line(*lines, [&](std::string_view line) -> std::string {
        const std::string_view word = trimmed(line);
        if (!is_printable_name(word, word_bytes_max))
            return "the word " + quoted(word) + "; a vocabulary has a word of 1 to " +
                   std::to_string(word_bytes_max) + " bytes in UTF-8 in each line";
        if (words.size() == limits::matrix_columns_max)
            return "more than " + std::to_string(limits::matrix_columns_max) + " words";
        const auto [known, is_new] = numbers.emplace(word, words.size());
        if (!is_new)
            return "the word " + quoted(word) + " as in line " + std::to_string(known->second + 1) +
                   "; give each word once";
        words.emplace_back(word);
        return {};
    });
    if (!read)
        return read.failure();
    if (words.empty())
        return lines->fail("no words; give one in each line");
    return words;
}

// Counts by the numbers that words have in a file.
class count_reader {
  public:
    // `first`: the lowest number; `count`: how many words there are, or as many as can be.
    count_reader(std::uint64_t first, std::uint64_t count) : first_{first}, count_{count} {}

    // Why the word and its count cannot be taken, or empty.
    std::string add(std::string_view word, std::string_view times) {
        const auto number = whole_number(word), count = whole_number(times);
        if (!number || *number < first_ || *number - first_ >= count_)
            return "the word " + quoted(word) + "; words are numbers from " +
                   std::to_string(first_) + " to " + std::to_string(first_ + count_ - 1);
        if (!count || *count < 1 || *count > word_count_max)
            return "the count " + quoted(times) + "; counts are whole numbers from 1 to " +
                   std::to_string(word_count_max);
        const auto [known, is_new] =
            words_.try_emplace(*number, static_cast<std::uint32_t>(words_.size()));
        if (is_new)
            last_documents_.push_back(0);
        if (last_documents_[known->second] == document_)
            return "the word " + std::string{word} + " twice in a document; leave one of them out";
        last_documents_[known->second] = document_;
        builder_.add(known->second, *count);
        return {};
    }

    // `number`: in the file, from 1, higher than the one before; those between have no words.
    std::string end_document(std::uint64_t number) {
        TROUPE_CHECK(number >= document_, "documents come in order");
        builder_.pass_over(number - document_);
        document_ = number + 1;
        return builder_.end_document(number);
    }
    // No document above this number has any words.
    void end_at(std::uint64_t number) { builder_.pass_over(number + 1 - document_); }

    result<documents> finish(const std::vector<std::string>& vocabulary, const left_out_words& out,
                             const vocabulary_bounds& bounds) && {
        document_builder::word_list list;
        list.names.resize(words_.size());
        list.numbers.resize(words_.size());
        for (const auto& [number, word] : words_) {
            list.names[word] =
                vocabulary.empty() ? std::to_string(number) : vocabulary[number - first_];
            list.numbers[word] = number;
        }
        if (!vocabulary.empty())
            list.is_kept = [&](const std::string& word) { return !out.has(lower_case_of(word)); };
        return std::move(builder_).finish(std::move(list), bounds);
    }

  private:
    const std::uint64_t first_, count_;
    std::unordered_map<std::uint64_t, std::uint32_t> words_; // in the order of their appearance
    std::vector<std::uint64_t> last_documents_;              // that had the word
    std::uint64_t document_ = 1;                             // number of the current one
    document_builder builder_;
};

// --- LDA-C

std::string take_lda_line(std::string_view line, count_reader& counts, std::uint64_t number) {
    const std::string_view written = take_word(line);
    const auto pairs = whole_number(written);
    if (!pairs)
        return quoted(written) +
               " is no number of words; a line is N WORD:COUNT ..., as LDA-C reads it, or the file "
               "begins with the numbers of documents, words and entries, as those of UCI";
    std::uint64_t found = 0;
    for (; !line.empty(); ++found) {
        const std::string_view pair = take_word(line);
        const std::size_t colon = pair.find(':');
        if (colon == std::string_view::npos)
            return quoted(pair) +
                   " is no WORD:COUNT; separate them by a colon, and pairs by blanks";
        if (std::string why = counts.add(pair.substr(0, colon), pair.substr(colon + 1));
            !why.empty())
            return why;
    }
    if (found != *pairs)
        return counted(found, "word") + ", but the line begins with " + std::to_string(*pairs) +
               "; correct it";
    return counts.end_document(number);
}

result<count_reader> read_lda(line_reader& lines, std::string_view first_line,
                              std::uint64_t words) {
    count_reader counts{0, words};
    std::uint64_t number = 0;
    const auto take = [&](std::string_view line) -> std::string {
        line = trimmed(line);
        return line.empty() ? "" : take_lda_line(line, counts, ++number);
    };
    if (const std::string why = take(first_line); !why.empty())
        return lines.fail(why);
    const auto rest = for_each_line(lines, take);
    if (!rest)
        return rest.failure();
    return counts;
}

// --- UCI

struct uci_sizes {
    std::uint64_t documents = 0;
    std::uint64_t words = 0;
    std::uint64_t entries = 0;
};

result<std::uint64_t> read_size(line_reader& lines, std::string_view what, std::uint64_t most) {
    const auto line = lines.next_filled();
    if (!line)
        return line.failure();
    const auto number = whole_number(line->value_or(""));
    if (!number || *number == 0 || *number > most)
        return lines.fail("the number of " + std::string{what} + " " + quoted(line->value_or("")) +
                          "; this file begins with the numbers of documents, words and entries, "
                          "here 1 to " +
                          std::to_string(most));
    return *number;
}

// The first line has been read.
result<uci_sizes> read_uci_sizes(line_reader& lines, std::uint64_t documents,
                                 std::uint64_t words_of_vocabulary) {
    if (documents > limits::matrix_rows_max)
        return lines.fail("more than " + std::to_string(limits::matrix_rows_max) +
                          " documents; leave some out");
    const auto words = read_size(lines, "words", limits::matrix_columns_max);
    if (!words)
        return words.failure();
    if (words_of_vocabulary > 0 && *words != words_of_vocabulary)
        return lines.fail(counted(*words, "word") + ", but the vocabulary has " +
                          std::to_string(words_of_vocabulary) + "; is it another file's?");
    const auto entries = read_size(lines, "entries", documents * *words);
    if (!entries)
        return entries.failure();
    return uci_sizes{documents, *words, *entries};
}

result<count_reader> read_uci(line_reader& lines, const uci_sizes& sizes) {
    count_reader counts{1, sizes.words};
    std::uint64_t document = 0, entries = 0;
    const auto read = for_each_line(lines, [&](std::string_view line) -> std::string {
        line = trimmed(line);
        if (line.empty())
            return {};
        const std::string_view written = take_word(line), word = take_word(line);
        const auto number = whole_number(written);
        if (word.empty() || line.empty() || line.find_first_of(" \t") != std::string_view::npos)
            return "an entry is DOCUMENT WORD COUNT";
        if (!number || *number < 1 || *number > sizes.documents)
            return "the document " + quoted(written) + "; documents are numbers from 1 to " +
                   std::to_string(sizes.documents);
        if (*number < document)
            return "the document " + std::to_string(*number) + " after " +
                   std::to_string(document) + "; sort the entries by documents";
        if (++entries > sizes.entries)
            return "more than the " + std::to_string(sizes.entries) +
                   " entries of the third line; correct it";
        if (document > 0 && *number > document)
            if (std::string why = counts.end_document(document); !why.empty())
                return why;
        document = *number;
        return counts.add(word, line);
    });
    if (!read)
        return read.failure();
    if (entries < sizes.entries)
        return lines.fail("the file ends after " + std::to_string(entries) + " of " +
                          std::to_string(sizes.entries) + " entries; fetch it again");
    if (const std::string why = counts.end_document(document); !why.empty())
        return lines.fail(why);
    counts.end_at(sizes.documents);
    return counts;
}

result<count_reader> read_counts(line_reader& lines, std::uint64_t words_of_vocabulary) {
    const auto line = lines.next_filled();
    if (!line)
        return line.failure();
    if (!*line)
        return lines.fail("the file is empty");
    const std::string first_line{**line};
    const auto documents = whole_number(first_line);
    if (!documents || *documents == 0) {
        const std::uint64_t words =
            words_of_vocabulary > 0 ? words_of_vocabulary : limits::matrix_columns_max;
        return read_lda(lines, first_line, words);
    }
    const auto sizes = read_uci_sizes(lines, *documents, words_of_vocabulary);
    if (!sizes)
        return sizes.failure();
    return read_uci(lines, *sizes);
}

} // namespace

result<documents> read_count_file(const std::string& path, const named_file& vocabulary,
                                  const word_rules& rules, const vocabulary_bounds& bounds) {
    std::vector<std::string> words;
    if (!vocabulary.path.empty()) {
        auto read = read_vocabulary(vocabulary.path);
        if (!read)
            return vocabulary.key.empty() ? read.failure() : read.failure().in(vocabulary.key);
        words = std::move(*read);
    }
    const auto out = left_out_words::of(rules);
    if (!out)
        return out.failure();
    auto lines = line_reader::open(path);
    if (!lines)
        return lines.failure();
    auto counts = read_counts(*lines, words.size());
    if (!counts)
        return counts.failure();
    auto all = std::move(*counts).finish(words, *out, bounds);
    return all ? std::move(all) : all.failure().in(path);
}

} // namespace troupe

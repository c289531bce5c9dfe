#include "actors/data/sparse/document_texts.hpp"

#include <algorithm>
#include <filesystem>

#include "actors/data/files/line_reader.hpp"
#include "actors/data/sparse/stop_words.hpp"
#include "actors/data/sparse/text_words.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

namespace fs = std::filesystem;

struct document_file {
    fs::path path;
    std::string name; // below the folder
};

result<std::vector<document_file>> files_in(const std::string& folder) {
    std::error_code failed;
    if (fs::is_regular_file(folder, failed))
        return error{errc::io, folder + ": a file, but text takes a folder, each file of which is "
                                        "a document; name a file with a document a line by lines"};
    if (!fs::is_directory(folder, failed))
        return error{errc::io, folder + ": no such folder; text takes a folder, each file of which "
                                        "is a document"};
    std::vector<document_file> files;
    const auto options = fs::directory_options::none; // links to folders are not followed
    for (fs::recursive_directory_iterator at{folder, options, failed}, end; !failed && at != end;
         at.increment(failed)) {
        std::error_code unknown;
        if (at->path().filename().string().starts_with('.'))
            at.disable_recursion_pending();
        else if (at->is_regular_file(unknown))
            files.push_back({at->path(), at->path().lexically_relative(folder).string()});
        if (files.size() > limits::matrix_rows_max)
            return error{errc::data, folder + ": more than " +
                                         std::to_string(limits::matrix_rows_max) +
                                         " files; leave some out"};
    }
    if (failed)
        return error{errc::io, folder + ": cannot be read: " + failed.message()};
    if (files.empty())
        return error{errc::data, folder + ": no files in it; name a folder of texts"};
    std::ranges::sort(files, {}, &document_file::name);
    return files;
}

} // namespace

casing casing_of(const word_rules& rules) {
    return rules.stems == "turkish" ? casing::turkish : casing::common;
}

// --- words to leave out

result<left_out_words> left_out_words::of(const word_rules& rules) {
    left_out_words made;
    const casing cases = casing_of(rules);
    made.length_min_ = rules.length_min;
    if (rules.has_english_stop_words)
        for (const std::string_view word : english_stop_words())
            made.stop_words_.emplace(word);
    if (rules.stop_words.path.empty())
        return made;
    const auto with_key = [&](const error& why) {
        return rules.stop_words.key.empty() ? why : why.in(rules.stop_words.key);
    };
    auto lines = line_reader::open(rules.stop_words.path);
    if (!lines)
        return with_key(lines.failure());
    const auto read = for_each_line(*lines, [&](std::string_view line) {
        text_words words{line};
        while (const auto word = words.next())
            made.stop_words_.insert(folded(lower_case_of(*word, cases)));
        return words.why_stopped();
    });
    if (!read)
        return with_key(read.failure());
    return made;
}

bool left_out_words::has(const std::string& word) const {
    return letters_in(word) < length_min_ || stop_words_.contains(folded(word));
}

// --- texts

result<text_collector> text_collector::of(const word_rules& rules) {
    auto left_out = left_out_words::of(rules);
    if (!left_out)
        return left_out.failure();
    text_collector made{std::move(*left_out), casing_of(rules)};
    if (!rules.stems.empty()) {
        auto stems = word_stems::of(rules.stems);
        if (!stems)
            return stems.failure();
        made.stems_ = std::move(*stems);
    }
    return made;
}

text_collector::written_word& text_collector::entry_of(std::string_view written) {
    if (const auto known = written_.find(written); known != written_.end())
        return known->second;
    written_word& made = written_.try_emplace(std::string{written}).first->second;
    std::string word = lower_case_of(written, cases_);
    if (left_out_.has(word))
        return made;
    if (stems_)
        word = stems_->stem(word);
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    made.number = numbers_.try_emplace(folded(word), next).first->second;
    made.shown = &spellings_.try_emplace(std::move(word), spelling{made.number}).first->second;
    return made;
}

std::string text_collector::add(std::string_view text) {
    text_words words{text};
    while (const auto word = words.next())
        if (written_word& found = entry_of(*word); found.shown != nullptr) {
            ++found.tokens;
            builder_.add(found.number, 1);
        }
    too_long_ += words.too_long();
    return words.why_stopped();
}

// A word is shown as most of its tokens are spelled; of equally many, as the first in alphabetical order.
std::vector<std::string> text_collector::take_names() {
    for (const auto& [_, word] : written_)
        if (word.shown != nullptr)
            word.shown->tokens += word.tokens;
    std::vector<const std::pair<const std::string, spelling>*> shown(numbers_.size());
    const auto is_shown_before = [](const auto& a, const auto& b) {
        return a.second.tokens != b.second.tokens ? a.second.tokens > b.second.tokens
                                                  : a.first < b.first;
    };
    for (const auto& one : spellings_)
        if (auto& best = shown[one.second.number]; !best || is_shown_before(one, *best))
            best = &one;
    std::vector<std::string> names;
    names.reserve(shown.size());
    for (const auto* const one : shown)
        names.push_back(one->first);
    written_.clear();
    spellings_.clear();
    numbers_.clear();
    return names;
}

result<documents> text_collector::finish(const vocabulary_bounds& bounds) && {
    auto all = std::move(builder_).finish({take_names(), {}, nullptr}, bounds);
    if (!all && too_long_ > 0)
        return error{all.failure().code(),
                     all.failure().message() + "; " + why_too_long(too_long_)};
    if (all)
        all->words_too_long = too_long_;
    return all;
}

// --- where they are

namespace {

result<void> read_file(const document_file& file, text_collector& words) {
    auto lines = line_reader::open(file.path.string());
    if (!lines)
        return lines.failure();
    lines->ignore_line_ends();
    const auto read = for_each_line(*lines, [&](std::string_view line) { return words.add(line); });
    if (!read)
        return read.failure();
    const std::string why = words.end_document(printable(file.name, limits::path_bytes_max));
    return why.empty() ? result<void>{} : error{errc::data, file.path.string() + ": " + why};
}

} // namespace

result<documents> read_line_documents(const std::string& path, const word_rules& rules,
                                      const vocabulary_bounds& bounds) {
    auto words = text_collector::of(rules);
    if (!words)
        return words.failure();
    std::error_code unknown;
    if (fs::is_directory(path, unknown))
        return error{errc::io, path + ": a folder, but lines takes a file, each line of which is a "
                                      "document; name a folder of texts by text"};
    auto lines = line_reader::open(path);
    if (!lines)
        return lines.failure();
    const auto read = for_each_line(*lines, [&](std::string_view line) {
        std::string why = words->add(line);
        return why.empty() ? words->end_document(lines->line()) : why;
    });
    if (!read)
        return read.failure();
    auto all = std::move(*words).finish(bounds);
    return all ? std::move(all) : all.failure().in(path);
}

result<documents> read_folder_documents(const std::string& path, const word_rules& rules,
                                        const vocabulary_bounds& bounds) {
    auto words = text_collector::of(rules);
    if (!words)
        return words.failure();
    const auto files = files_in(path);
    if (!files)
        return files.failure();
    for (const document_file& file : *files)
        if (auto read = read_file(file, *words); !read) // names in a folder are anybody's
            return error{read.failure().code(),
                         printable(read.failure().message(), limits::reason_bytes_max)};
    auto all = std::move(*words).finish(bounds);
    return all ? std::move(all) : all.failure().in(path);
}

} // namespace troupe

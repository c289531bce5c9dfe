#include "actors/data/sparse/documents.hpp"

#include <new>

#include "actors/data/sparse/count_file.hpp"
#include "actors/data/sparse/dictionary.hpp"
#include "actors/data/sparse/document_texts.hpp"

namespace troupe {

namespace {

result<documents> read_format(const document_settings& settings) {
    const auto& [format, source, vocabulary, words, bounds] = settings;
    switch (format) {
    case document_format::counts:
        return read_count_file(source.path, vocabulary, words, bounds);
    case document_format::text:
        return read_folder_documents(source.path, words, bounds);
    case document_format::lines:
        return read_line_documents(source.path, words, bounds);
    default:
        break;
    }
    const auto index = index_of_dictionary(source.path);
    if (!index)
        return index.failure();
    return read_dictionary(source.path, *index, words, bounds);
}

// Errors of the other files have a key.
bool has_key(const std::string& message, const named_file& file) {
    return !file.key.empty() && message.starts_with(file.key + ": ");
}

} // namespace

std::vector<std::string> documents::row_names() const {
    if (!names.empty())
        return names;
    std::vector<std::string> made;
    made.reserve(numbers.size());
    for (const std::uint64_t number : numbers)
        made.push_back(std::to_string(number));
    return made;
}

result<documents> read_documents(const document_settings& settings) {
    const named_file& source = settings.source;
    const auto with_key = [&](const error& why) {
        return source.key.empty() ? why : why.in(source.key);
    };
    try {
        auto all = read_format(settings);
        if (all || has_key(all.failure().message(), settings.vocabulary) ||
            has_key(all.failure().message(), settings.words.stop_words))
            return all;
        return with_key(all.failure());
    } catch (const std::bad_alloc&) {
        return with_key({errc::exhausted, source.path + ": no memory for the documents"});
    }
}

} // namespace troupe

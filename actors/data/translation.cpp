#include "actors/data/translation.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "actors/data/parallel_text.hpp"
#include "actors/data/subwords.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

struct row_shape {
    std::size_t source = 0;
    std::size_t target = 0;
};

// Writes as many of the tokens as there is space for, and padding behind them.
void put(std::span<const std::int32_t> tokens, std::int32_t padding, std::span<std::int32_t> into) {
    const std::size_t count = std::min(tokens.size(), into.size());
    std::copy_n(tokens.begin(), count, into.begin());
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(count), into.end(), padding);
}

void put_source(const subwords& vocabulary, std::string_view sentence,
                std::span<std::int32_t> into) {
    auto source = vocabulary.encode(sentence);
    source.resize(std::min(source.size(), into.size() - 1)); // a cut sentence has an end, too
    source.push_back(vocabulary.sentence_end());
    put(source, subwords::padding, into);
}

void put_pair(const subwords& vocabulary, const sentence_pair& pair, const row_shape& row,
              std::span<std::int32_t> input, std::span<std::int32_t> labels) {
    put_source(vocabulary, pair.source, input.first(row.source));
    auto target = vocabulary.encode(pair.target);
    target.insert(target.begin(), vocabulary.sentence_begin());
    put(target, subwords::padding, input.last(row.target));
    target.erase(target.begin());
    target.push_back(vocabulary.sentence_end());
    put(target, ignored_label, labels);
}

struct part {
    std::string source;
    std::string target; // empty: `source` has both
    std::string key;    // of the source; the target's has the same beginning
};

result<parallel_text> read_part(const part& from) {
    auto text = read_parallel_text(from.source, from.target);
    if (text)
        return text;
    const bool about_target =
        !from.target.empty() && text.failure().message().starts_with(from.target);
    return text.failure().in(from.key + (about_target ? "_target" : "_source"));
}

result<dataset> encode(const part& from, const parallel_text& text, const subwords& vocabulary,
                       const row_shape& row) {
    const std::size_t width = row.source + row.target;
    const std::size_t pairs = text.pairs.size();
    if (pairs > limits::dataset_bytes_max / sizeof(std::int32_t) / (width + row.target))
        return error{errc::data, from.key + "_source: " + from.source +
                                     ": its samples would take more than " +
                                     std::to_string(limits::dataset_bytes_max) +
                                     " bytes; give fewer lines, or shorten model.input"};
    std::vector<std::int32_t> inputs(pairs * width);
    std::vector<std::int32_t> labels(pairs * row.target);
    for (std::size_t i = 0; i < pairs; ++i)
        put_pair(vocabulary, text.pairs[i], row, std::span{inputs}.subspan(i * width, width),
                 std::span{labels}.subspan(i * row.target, row.target));
    dataset data{from.source, from.key + "_source", pairs, {}, {}};
    data.inputs = make_column(std::move(inputs), data_type::int32, {width});
    data.labels = make_column(std::move(labels), data_type::int32, {row.target});
    return data;
}

result<subwords> vocabulary_for(proto::TranslationData::Reader options, const parallel_text& text) {
    const std::string file = options.getVocabularyFile().cStr();
    const std::size_t tokens = options.getVocabulary();
    std::error_code failed;
    if (std::filesystem::exists(file, failed)) {
        auto loaded = subwords::load(file);
        if (!loaded)
            return loaded.failure().in("data.translation.vocabulary_file");
        if (loaded->tokens() > tokens)
            return error{errc::data, "data.translation.vocabulary: " + file + " has " +
                                         std::to_string(loaded->tokens()) +
                                         " tokens; set the key to that, or delete the file to "
                                         "have a smaller vocabulary made"};
        return loaded;
    }
    std::vector<std::string_view> lines;
    lines.reserve(2 * text.pairs.size());
    for (const sentence_pair& pair : text.pairs)
        lines.insert(lines.end(), {pair.source, pair.target});
    auto made = subwords::make(lines, tokens);
    if (!made)
        return made.failure().in("data.translation.vocabulary");
    if (auto saved = made->save(file); !saved)
        return error{errc::usage, saved.failure().in("data.translation.vocabulary_file").message() +
                                      "; name a file that can be"};
    return made;
}

} // namespace

result<data_sets> read_translation_data(proto::TranslationData::Reader options,
                                        const tensor_shape& input) {
    const std::size_t source_length = options.getSourceLength();
    if (input.rank() != 1 || input.elements() <= source_length)
        return error{errc::data, "data.translation.source_length: leaves nothing for the target of "
                                 "a sample of " +
                                     to_string(input) +
                                     "; model.input is [source_length + length of the target]"};
    const row_shape row{source_length, input.elements() - source_length};
    const part train{options.getTrainSource().cStr(), options.getTrainTarget().cStr(),
                     "data.translation.train"};
    const part test{options.getTestSource().cStr(), options.getTestTarget().cStr(),
                    "data.translation.test"};
    try {
        const auto train_text = read_part(train);
        if (!train_text)
            return train_text.failure();
        const auto test_text = read_part(test);
        if (!test_text)
            return test_text.failure();
        const auto vocabulary = vocabulary_for(options, *train_text);
        if (!vocabulary)
            return vocabulary.failure();
        auto train_set = encode(train, *train_text, *vocabulary, row);
        if (!train_set)
            return train_set.failure();
        auto test_set = encode(test, *test_text, *vocabulary, row);
        if (!test_set)
            return test_set.failure();
        return data_sets{std::move(*train_set), std::move(*test_set)};
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted, "data.translation: no memory for the sentences"};
    }
}

result<sentence_codec> sentence_codec::open(proto::TranslationData::Reader options) {
    const std::string file = options.getVocabularyFile().cStr();
    std::error_code failed;
    if (!std::filesystem::exists(file, failed))
        return error{errc::usage, "data.translation.vocabulary_file: " + file +
                                      ": no such file; `troupe run` makes it"};
    auto vocabulary = subwords::load(file);
    if (!vocabulary)
        return vocabulary.failure().in("data.translation.vocabulary_file");
    return sentence_codec{std::move(*vocabulary), options.getSourceLength()};
}

std::vector<std::int32_t> sentence_codec::source(std::string_view sentence) const {
    std::vector<std::int32_t> tokens(source_length_);
    put_source(vocabulary_, sentence, tokens);
    return tokens;
}

std::string sentence_codec::sentence(std::span<const std::int32_t> target) const {
    const auto end = std::ranges::find(target, vocabulary_.sentence_end());
    return vocabulary_.decode({target.begin(), end});
}

bool sentence_codec::is_exact(std::span<const std::int32_t> target,
                              std::span<const std::int32_t> labels) const {
    return std::ranges::find(labels, vocabulary_.sentence_end()) != labels.end() &&
           sentence(target) == sentence(labels);
}

} // namespace troupe

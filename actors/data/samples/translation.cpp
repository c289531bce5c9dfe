#include "actors/data/samples/translation.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "actors/data/samples/parallel_text.hpp"
#include "actors/data/samples/subwords.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

struct row_shape {
    std::size_t source = 0;
    std::size_t target = 0;
};

// Writes as many tokens as there is space for, then padding.
void put(std::span<const std::int32_t> tokens, std::int32_t padding, std::span<std::int32_t> into) {
    const std::size_t count = std::min(tokens.size(), into.size());
    std::copy_n(tokens.begin(), count, into.begin());
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(count), into.end(), padding);
}

// Returns the number of tokens of the whole sentence, including its end.
std::size_t put_source(const subwords& vocabulary, std::string_view sentence,
                       std::span<std::int32_t> into) {
    auto source = vocabulary.encode(sentence);
    const std::size_t whole = source.size() + 1;
    source.resize(std::min(source.size(), into.size() - 1)); // a cut sentence has an end, too
    source.push_back(vocabulary.sentence_end());
    put(source, subwords::padding, into);
    return whole;
}

// Sentences of one language that were cut: their number, and the tokens of the longest.
struct cut_sentences {
    std::size_t count = 0;
    std::size_t longest = 0;

    void see(std::size_t tokens, std::size_t space) {
        if (tokens <= space)
            return;
        ++count;
        longest = std::max(longest, tokens);
    }
};

struct cut_pairs {
    cut_sentences source;
    cut_sentences target;
};

void put_pair(const subwords& vocabulary, const sentence_pair& pair, const row_shape& row,
              std::span<std::int32_t> input, std::span<std::int32_t> labels, cut_pairs& cut) {
    cut.source.see(put_source(vocabulary, pair.source, input.first(row.source)), row.source);
    auto target = vocabulary.encode(pair.target);
    target.insert(target.begin(), vocabulary.sentence_begin());
    put(target, subwords::padding, input.last(row.target));
    target.erase(target.begin());
    target.push_back(vocabulary.sentence_end());
    put(target, ignored_label, labels);
    cut.target.see(target.size(), row.target);
}

struct pairs_part {
    std::string source;
    std::string target; // empty: `source` has both
    std::string key;    // of the source; the target's key has the same prefix

    std::string source_at() const { return key + "_source: " + source + ": "; }
    std::string target_at() const {
        return target.empty() ? source_at() : key + "_target: " + target + ": ";
    }
};

result<parallel_text> read_part(const pairs_part& from) {
    auto text = read_parallel_text(from.source, from.target);
    if (text)
        return text;
    const bool about_target =
        !from.target.empty() && text.failure().message().starts_with(from.target);
    return text.failure().in(from.key + (about_target ? "_target" : "_source"));
}

void note_cuts(const pairs_part& from, std::size_t pairs, const cut_pairs& cut,
               std::vector<std::string>& notes) {
    const auto note = [&](const cut_sentences& sentences, const std::string& what,
                          const std::string& space) {
        if (sentences.count > 0)
            notes.push_back(what + " sentences are longer than " + space +
                            " and are cut; the longest takes " + std::to_string(sentences.longest) +
                            " tokens, its end included");
    };
    const std::string of_all = " of " + std::to_string(pairs);
    note(cut.source, from.source_at() + std::to_string(cut.source.count) + of_all + " source",
         "data.translation.source_length");
    note(cut.target, from.target_at() + std::to_string(cut.target.count) + of_all + " target",
         "what model.input leaves behind the source");
}

void note_half_empty(const pairs_part& from, const parallel_text& text,
                     std::vector<std::string>& notes) {
    if (text.half_empty > 0)
        notes.push_back(from.source_at() + std::to_string(text.half_empty) + " of " +
                        std::to_string(text.pairs.size() + text.half_empty) +
                        " pairs have one sentence, and are left out");
}

result<dataset> encode(const pairs_part& from, const parallel_text& text,
                       const subwords& vocabulary, const row_shape& row,
                       std::vector<std::string>& notes) {
    const std::size_t width = row.source + row.target;
    const std::size_t pairs = text.pairs.size();
    if (pairs > limits::dataset_bytes_max / sizeof(std::int32_t) / (width + row.target))
        return error{errc::data, from.source_at() + "its samples would take more than " +
                                     std::to_string(limits::dataset_bytes_max) +
                                     " bytes; give fewer lines, or shorten model.input"};
    std::vector<std::int32_t> inputs(pairs * width);
    std::vector<std::int32_t> labels(pairs * row.target);
    cut_pairs cut;
    for (std::size_t i = 0; i < pairs; ++i)
        put_pair(vocabulary, text.pairs[i], row, std::span{inputs}.subspan(i * width, width),
                 std::span{labels}.subspan(i * row.target, row.target), cut);
    note_half_empty(from, text, notes);
    note_cuts(from, pairs, cut, notes);
    dataset data{from.source, from.key + "_source", pairs, {}, {}};
    data.inputs = make_column(std::move(inputs), data_type::int32, {width});
    data.labels = make_column(std::move(labels), data_type::int32, {row.target});
    return data;
}

// `tokens`: the number of tokens, which is less than the key allows.
std::string note_of_size(std::size_t allowed, const std::string& what, std::size_t tokens,
                         const std::string& advice) {
    return "data.translation.vocabulary: allows " + std::to_string(allowed) + " tokens, but " +
           what + " " + std::to_string(tokens) + "; " + advice;
}

result<subwords> vocabulary_for(proto::TranslationData::Reader options, const parallel_text& text,
                                std::vector<std::string>& notes) {
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
        if (loaded->tokens() < tokens)
            notes.push_back(note_of_size(
                tokens, file + ", which is used as it is, has", loaded->tokens(),
                "set the key to that, or delete the file to have a vocabulary made anew"));
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
    if (made->tokens() < tokens)
        notes.push_back(note_of_size(tokens, "the training text makes no more than", made->tokens(),
                                     "set the key to that"));
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
    const pairs_part train{options.getTrainSource().cStr(), options.getTrainTarget().cStr(),
                           "data.translation.train"};
    const pairs_part test{options.getTestSource().cStr(), options.getTestTarget().cStr(),
                          "data.translation.test"};
    try {
        const auto train_text = read_part(train);
        if (!train_text)
            return train_text.failure();
        const auto test_text = read_part(test);
        if (!test_text)
            return test_text.failure();
        std::vector<std::string> notes;
        const auto vocabulary = vocabulary_for(options, *train_text, notes);
        if (!vocabulary)
            return vocabulary.failure();
        auto train_set = encode(train, *train_text, *vocabulary, row, notes);
        if (!train_set)
            return train_set.failure();
        auto test_set = encode(test, *test_text, *vocabulary, row, notes);
        if (!test_set)
            return test_set.failure();
        return data_sets{std::move(*train_set), std::move(*test_set), std::move(notes),
                         vocabulary->sha256()};
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

encoded_sentence sentence_codec::source(std::string_view sentence) const {
    encoded_sentence encoded;
    encoded.tokens.resize(source_length_);
    encoded.own = put_source(vocabulary_, sentence, encoded.tokens) - 1;
    encoded.cut = encoded.own - std::min(encoded.own, source_length_ - 1);
    encoded.unknown = vocabulary_.unknown(sentence);
    return encoded;
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

#include "actors/data/samples/translation.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "actors/data/files/text_number.hpp"
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

// `source`: the tokens of a sentence.
void put_source(const subwords& vocabulary, std::vector<std::int32_t> source,
                std::span<std::int32_t> into) {
    source.resize(std::min(source.size(), into.size() - 1)); // a cut sentence has an end, too
    source.push_back(vocabulary.sentence_end());
    put(source, subwords::padding, into);
}

// A count of what a model does not read of the sentences of one language.
struct unread_text {
    std::size_t cut = 0;     // sentences
    std::size_t longest = 0; // tokens of the longest of these
    std::size_t with_unknown = 0;
    std::string first_unknown;

    // `tokens`: those of the sentence; of its row there is `space` for them and one more.
    void see(const subwords& vocabulary, std::string_view sentence,
             std::span<const std::int32_t> tokens, std::size_t space) {
        if (tokens.size() + 1 > space) {
            ++cut;
            longest = std::max(longest, tokens.size() + 1);
        }
        if (std::ranges::find(tokens, vocabulary.unknown_token()) == tokens.end())
            return;
        if (with_unknown++ == 0)
            first_unknown = vocabulary.unknown(sentence).front();
    }
};

struct unread_pairs {
    unread_text source;
    unread_text target;
};

void put_pair(const subwords& vocabulary, const sentence_pair& pair, const row_shape& row,
              std::span<std::int32_t> input, std::span<std::int32_t> labels, unread_pairs& unread) {
    const auto source = vocabulary.encode(pair.source);
    put_source(vocabulary, source, input.first(row.source));
    unread.source.see(vocabulary, pair.source, source, row.source);
    auto target = vocabulary.encode(pair.target);
    unread.target.see(vocabulary, pair.target, target, row.target);
    target.insert(target.begin(), vocabulary.sentence_begin());
    put(target, subwords::padding, input.last(row.target));
    target.erase(target.begin());
    target.push_back(vocabulary.sentence_end());
    put(target, ignored_label, labels);
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

// `where`: the key and the file; `space`: what is too small for a sentence that is cut.
void note_unread(const std::string& where, const std::string& language, std::size_t pairs,
                 const unread_text& unread, const std::string& space,
                 std::vector<std::string>& notes) {
    const auto count = [&](std::size_t sentences) {
        return where + std::to_string(sentences) + " of " + std::to_string(pairs) + " " + language +
               " sentences ";
    };
    if (unread.cut > 0)
        notes.push_back(count(unread.cut) + "are longer than " + space +
                        " and are cut; the longest takes " + std::to_string(unread.longest) +
                        " tokens, its end included");
    if (unread.with_unknown > 0)
        notes.push_back(count(unread.with_unknown) +
                        "have characters that the vocabulary has not, the first " +
                        troupe::quoted(unread.first_unknown) +
                        "; the model reads an unknown token in their place");
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
    unread_pairs unread;
    for (std::size_t i = 0; i < pairs; ++i)
        put_pair(vocabulary, text.pairs[i], row, std::span{inputs}.subspan(i * width, width),
                 std::span{labels}.subspan(i * row.target, row.target), unread);
    for (const std::string& note : text.notes)
        notes.push_back(from.source_at() + note);
    note_unread(from.source_at(), "source", pairs, unread.source, "data.translation.source_length",
                notes);
    note_unread(from.target_at(), "target", pairs, unread.target,
                "what model.input leaves behind the source", notes);
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
    const auto too_long = std::ranges::count_if(
        lines, [](std::string_view line) { return line.size() > subwords::line_bytes_max; });
    if (too_long > 0)
        notes.push_back("data.translation.vocabulary: it is made without " +
                        std::to_string(too_long) + " of " + std::to_string(lines.size()) +
                        " sentences, which are longer than " +
                        std::to_string(subwords::line_bytes_max) + " bytes; is one on each line?");
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
    const auto tokens = vocabulary_.encode(sentence);
    put_source(vocabulary_, tokens, encoded.tokens);
    encoded.own = tokens.size();
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

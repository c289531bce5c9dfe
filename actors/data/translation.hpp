// Sentences and their translations, as one row of tokens each: the source's subwords and the end of the sentence, padded to
// source_length; then, for the rest of model.input, the begin of the sentence and the target's subwords, padded. There is
// a label for each of the latter: the token that comes next, the end of the sentence at last, and ignored_label for padding.
// What is too long is cut.
//
//   input   [ s1 s2 s3 end pad pad | begin t1 t2 pad ]
//   labels                         [    t1 t2 end -1 ]
//
// The vocabulary is one for both languages. It is loaded from a file, or made from the training text and kept there, so
// that a run that goes on, or that tests other text, has the same tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/data/dataset.hpp"
#include "actors/data/subwords.hpp"

namespace troupe {

// Training and test data as `data.translation` names them. Errors: as those of input_file.hpp.
result<data_sets> read_translation_data(proto::TranslationData::Reader options,
                                        const tensor_shape& input);

// A sentence as a model reads it.
struct encoded_sentence {
    std::vector<std::int32_t> tokens; // source_length of them: its own, its end and padding
    std::size_t own = 0;              // tokens of the whole sentence without its end
    std::size_t cut = 0;              // of these, what had no space
    std::vector<std::string> unknown; // parts of it that the vocabulary has not
};

// Sentences as a trained model takes and gives them, by the vocabulary that its training has kept. Threads: const and shared
// freely.
class sentence_codec {
  public:
    // errc::usage where no vocabulary is kept.
    static result<sentence_codec> open(proto::TranslationData::Reader options);

    std::string vocabulary_sha256() const { return vocabulary_.sha256(); }
    std::size_t source_length() const noexcept { return source_length_; }
    std::int32_t begin() const noexcept { return vocabulary_.sentence_begin(); }
    std::int32_t end() const noexcept { return vocabulary_.sentence_end(); }

    encoded_sentence source(std::string_view sentence) const;
    // What these tokens of a target, or its labels, say before the end of the sentence.
    std::string sentence(std::span<const std::int32_t> target) const;
    // Whether a target says what its labels say: never where these were cut, and so have no end.
    bool is_exact(std::span<const std::int32_t> target, std::span<const std::int32_t> labels) const;

  private:
    sentence_codec(subwords vocabulary, std::size_t source_length)
        : vocabulary_{std::move(vocabulary)}, source_length_{source_length} {}

    subwords vocabulary_;
    std::size_t source_length_;
};

} // namespace troupe

// Sentences and their translations, one row of tokens each: the source's subwords and the end of the sentence, padded to
// source_length; then, for the rest of model.input, the begin of the sentence and the target's subwords, padded. Each
// position of that rest has a label: the next token, finally the end of the sentence, and ignored_label for padding.
// Sentences that are too long are cut.
//
//   input   [ s1 s2 s3 end pad pad | begin t1 t2 pad ]
//   labels                         [    t1 t2 end -1 ]
//
// One vocabulary serves both languages. It is loaded from a file, or made from the training text and saved there, so that a
// resumed run, or one that tests other text, has the same tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/data/samples/dataset.hpp"
#include "actors/data/samples/subwords.hpp"

namespace troupe {

// Reads the training and test data that `data.translation` names. Errors: as in input_file.hpp.
result<data_sets> read_translation_data(proto::TranslationData::Reader options,
                                        const tensor_shape& input);

// A source sentence encoded as a model's input.
struct encoded_sentence {
    std::vector<std::int32_t> tokens; // source_length tokens: the sentence, its end and padding
    std::size_t own = 0;              // tokens of the whole sentence without its end
    std::size_t cut = 0;              // of these, the number cut off
    std::vector<std::string> unknown; // parts that the vocabulary does not have
};

// Conversion between sentences and a trained model's tokens, with the vocabulary saved by its training. Threads: const and
// freely shared.
class sentence_codec {
  public:
    // errc::usage if no vocabulary has been saved.
    static result<sentence_codec> open(proto::TranslationData::Reader options);

    std::string vocabulary_sha256() const { return vocabulary_.sha256(); }
    std::size_t source_length() const noexcept { return source_length_; }
    std::int32_t begin() const noexcept { return vocabulary_.sentence_begin(); }
    std::int32_t end() const noexcept { return vocabulary_.sentence_end(); }

    encoded_sentence source(std::string_view sentence) const;
    // The text of these tokens of a target, or of its labels, up to the end of the sentence.
    std::string sentence(std::span<const std::int32_t> target) const;
    // True if a target has the same text as its labels; never if these were cut and so have no end.
    bool is_exact(std::span<const std::int32_t> target, std::span<const std::int32_t> labels) const;

  private:
    sentence_codec(subwords vocabulary, std::size_t source_length)
        : vocabulary_{std::move(vocabulary)}, source_length_{source_length} {}

    subwords vocabulary_;
    std::size_t source_length_;
};

} // namespace troupe

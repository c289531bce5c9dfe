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

#include "actors/data/dataset.hpp"

namespace troupe {

// Training and test data as `data.translation` names them. Errors: as those of input_file.hpp.
result<data_sets> read_translation_data(proto::TranslationData::Reader options,
                                        const tensor_shape& input);

} // namespace troupe

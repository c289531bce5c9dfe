// Text as data of a byte-level language model: files, plain or gzip, concatenated into one array of tokens 0..255.
//
// A sample is a window of the text of the length given by model.input; its labels are the window one byte further on.
// Windows are not copied. Test samples come from files of their own, or from the end of the text, which no training sample
// includes.
//
// Errors: as in input_file.hpp.
#pragma once

#include "actors/data/samples/dataset.hpp"

namespace troupe {

// Reads the training and test data that `data.text` names.
result<data_sets> read_text_data(proto::TextData::Reader text, const tensor_shape& input);

} // namespace troupe

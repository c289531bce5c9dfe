// Text as the data of a language model of bytes: files one behind the other, plain or gzip, as one array of tokens 0..255.
//
// A sample is a window of the text as long as model.input says; its labels are the window one byte further on. Windows are
// not copied. Test samples come from files of their own, or from the end of the text, which no training sample sees.
//
// Errors: as those of input_file.hpp.
#pragma once

#include "actors/data/dataset.hpp"

namespace troupe {

// Training and test data as `data.text` names them.
result<data_sets> read_text_data(proto::TextData::Reader text, const tensor_shape& input);

} // namespace troupe

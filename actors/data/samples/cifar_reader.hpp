// Reader of CIFAR-10 and CIFAR-100 in their binary version, plain or gzip.
//
// Format: a sequence of records. A record is the label's byte (CIFAR-100: the byte of the coarse label, which is skipped,
// and of the fine label), then 3072 bytes of the image: 32 x 32 red, then green, then blue values, each row by row. Source:
// https://www.cs.toronto.edu/~kriz/cifar.html, "Binary version".
//
// Errors: as in input_file.hpp.
#pragma once

#include "actors/data/samples/dataset.hpp"

namespace troupe {

// Reads the training and test data that `data.cifar` names.
result<data_sets> read_cifar_data(proto::CifarData::Reader cifar, const tensor_shape& input);

} // namespace troupe

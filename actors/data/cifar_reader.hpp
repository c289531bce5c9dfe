// Reads CIFAR-10 and CIFAR-100 in their binary version, plain or gzip.
//
// Format: records and nothing else. A record is the label's byte (CIFAR-100: the coarse label's, which is left out, and the
// fine label's), then 3072 bytes of the image: 32 x 32 red, as many green, as many blue, each by rows. Source:
// https://www.cs.toronto.edu/~kriz/cifar.html, "Binary version".
//
// Errors: as those of input_file.hpp.
#pragma once

#include "actors/data/dataset.hpp"

namespace troupe {

// Training and test data as `data.cifar` names them.
result<data_sets> read_cifar_data(proto::CifarData::Reader cifar, const tensor_shape& input);

} // namespace troupe

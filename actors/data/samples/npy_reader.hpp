// Reader of arrays saved by NumPy: .npy files, and members of .npz archives, named FILE.npz:MEMBER.
//
// The first dimension is the samples. u1 are bytes scaled to 0..1 as inputs, classes as labels; i1, i2, i4, i8, u2 and u4
// are tokens or classes, kept as int32; f2, f4 and f8 are numbers, kept as float32; b1 are the numbers 0 and 1, or classes.
//
// Errors: as in input_file.hpp; a value that cannot be converted is named by its byte offset.
#pragma once

#include "actors/data/samples/dataset.hpp"

namespace troupe {

struct npy_array {
    std::size_t samples = 0;
    tensor_shape sample_shape;
    value_array values; // samples x sample_shape
};

enum class npy_use { inputs, labels }; // ignored_label is allowed in labels only

result<npy_array> read_npy(const std::string& name, npy_use use);

// Reads the training and test data that `data.npy` names. Labels may be missing unless they are needed.
result<data_sets> read_npy_data(proto::NpyData::Reader npy, const tensor_shape& input,
                                bool needs_labels);

} // namespace troupe

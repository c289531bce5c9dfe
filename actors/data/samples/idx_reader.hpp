// Reader of images and classes in IDX files (actors/data/files/idx_file.hpp).
//
// Errors: as in input_file.hpp.
#pragma once

#include <filesystem>

#include "actors/data/samples/dataset.hpp"

namespace troupe {

// Files of a dataset. Errors begin with the key that names the file: `key` + "_images" or "_labels".
struct idx_files {
    std::filesystem::path images;
    std::filesystem::path labels;
    std::string key; // key in the app file, as "data.idx.train"
};

// Reads images and their labels as a dataset of samples of shape `input`: (1, rows, columns), (rows, columns) or (rows *
// columns). errc::data if the counts differ or the images have another size.
result<dataset> read_idx_dataset(const idx_files& files, const tensor_shape& input);

// Reads the training and test data that `data.idx` names.
result<data_sets> read_idx_data(proto::IdxData::Reader idx, const tensor_shape& input);

} // namespace troupe

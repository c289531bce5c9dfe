// Reader of IDX files, plain or gzip, the format of MNIST and Fashion-MNIST.
//
// Format (big-endian): two zero bytes, a byte for the element type (08: unsigned byte), a byte for
// the number of dimensions, one 32-bit size per dimension, then the elements in row-major order and
// nothing after them. Source: http://yann.lecun.com/exdb/mnist/, "The IDX file format".
//
// Errors: as in input_file.hpp.
#pragma once

#include <filesystem>

#include "actors/data/dataset.hpp"
#include "actors/data/input_file.hpp"

namespace troupe {

// Reads the header of a file of unsigned bytes in `rank` dimensions; their sizes, none of which is 0. `what` it holds is for
// messages.
result<std::vector<std::uint64_t>> read_idx_header(input_file& in, std::uint8_t rank,
                                                   std::string_view what);

struct idx_images {
    std::size_t count = 0;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<std::uint8_t> pixels; // count x rows x columns
};

// Magic 0x00000803.
result<idx_images> read_idx_images(const std::filesystem::path& file);
// Magic 0x00000801.
result<std::vector<std::uint8_t>> read_idx_labels(const std::filesystem::path& file);

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

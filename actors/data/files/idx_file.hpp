// IDX files, plain or gzip, the format of MNIST and Fashion-MNIST.
//
// Format (big-endian): two zero bytes, a byte for the element type (08: unsigned byte), a byte for
// the number of dimensions, one 32-bit size per dimension, then the elements in row-major order and
// nothing after them. Source: http://yann.lecun.com/exdb/mnist/, "The IDX file format".
//
// Errors: as in input_file.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "actors/data/files/input_file.hpp"

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

} // namespace troupe

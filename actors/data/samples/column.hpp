// The values of a data set's samples, or of their labels.
//
// Threads: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// The stored values of an array. Bytes take a quarter of the memory: in a column of float32 they stand for numbers (0 for
// 0.0, 255 for 1.0), in a column of int32 for themselves.
using value_array =
    std::variant<std::vector<std::uint8_t>, std::vector<float>, std::vector<std::int32_t>>;

// A block of values for every sample, all in one array. Blocks may overlap (windows of a text), and columns may share
// arrays.
struct column {
    std::shared_ptr<const value_array> array;
    data_type type = data_type::float32; // type in minibatches: float32 or int32
    tensor_shape shape;                  // shape of one sample, row-major
    std::size_t first = 0;               // start of the first sample's block in the array
    std::size_t stride = 0;              // elements from one sample's block to the next

    std::size_t block_elements() const noexcept { return shape.elements(); }
    template <class T>
    std::span<const T> block(std::size_t sample) const {
        return std::span{std::get<std::vector<T>>(*array)}.subspan(first + sample * stride,
                                                                   block_elements());
    }
};

// A column whose blocks are contiguous and fill the array.
column make_column(value_array values, data_type type, const tensor_shape& shape);

} // namespace troupe

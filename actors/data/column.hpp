// The values of a data set's samples, or of their labels.
//
// Threads: values that nobody changes once they are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// The values of an array as they are kept. Bytes stand for numbers (0 for 0.0 and 255 for 1.0) in a column of float32, for
// themselves in one of int32: a quarter of the memory.
using value_array =
    std::variant<std::vector<std::uint8_t>, std::vector<float>, std::vector<std::int32_t>>;

// For every sample a block of values of one array. Blocks may overlap (windows of a text), and columns share arrays.
struct column {
    std::shared_ptr<const value_array> array;
    data_type type = data_type::float32; // of the values in a minibatch; float32 or int32
    tensor_shape shape;                  // of one sample's values, row-major
    std::size_t first = 0;               // where in the array the first sample's block begins
    std::size_t stride = 0;              // from a sample's block to the next sample's

    std::size_t block_elements() const noexcept { return shape.elements(); }
    template <class T>
    std::span<const T> block(std::size_t sample) const {
        return std::span{std::get<std::vector<T>>(*array)}.subspan(first + sample * stride,
                                                                   block_elements());
    }
};

// A column whose blocks stand one behind the other and fill the array.
column make_column(value_array values, data_type type, const tensor_shape& shape);

} // namespace troupe

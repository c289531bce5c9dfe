// Samples with their labels in memory, and where they come from.
//
// A dataset is a value that nobody changes once it is made: share it by reference or shared_ptr
// from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/graph/value_form.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/error.hpp"

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

struct dataset {
    std::string name; // where its labels came from, for messages
    std::string key;  // of the app file, which says so
    std::size_t samples = 0;
    column inputs;
    column labels;
    bool labels_are_inputs = false; // then both columns are the same but for their shapes
    std::size_t classes = 0;        // 1 + the largest label, of int32 labels; fit_to_model says it

    std::size_t size() const noexcept { return samples; }
};

struct data_sets {
    dataset train;
    dataset test;
};

// Loads what the app file's `data` names. `input` is the shape of one sample that the model wants;
// samples whose elements cannot be read in this shape are an error. Blocks on files: not for an
// actor's thread. Errors: errc::data with file and byte offset, errc::io if a file cannot be read;
// both "KEY: SENTENCE", with the key of the app file that they are about.
result<data_sets> load_data(proto::Data::Reader data, const tensor_shape& input,
                            std::uint64_t seed);

// errc::data, "KEY: SENTENCE", unless the samples are what a model takes and the labels what its loss takes; a value out of
// range is named. Labels of another shape, but as many numbers, take the wanted shape: an image as label of a flat output.
result<void> fit_to_model(dataset& data, const value_form& input, const value_form& labels);

} // namespace troupe

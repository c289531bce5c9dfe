// Samples with their labels in memory, and where they come from.
//
// A dataset is a value that nobody changes once it is made: share it by reference or shared_ptr
// from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/data/column.hpp"
#include "actors/data/image_transforms.hpp"
#include "kernels/graph/value_form.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/error.hpp"

namespace troupe {

struct dataset {
    std::string name; // where its labels came from, for messages
    std::string key;  // of the app file, which says so
    std::size_t samples = 0;
    column inputs;
    column labels;
    std::optional<image_transforms> transforms; // of the inputs
    // The same of its inputs; empty where they came from there, too.
    std::string inputs_name;
    std::string inputs_key;
    bool labels_are_inputs = false; // then both columns are the same but for their shapes
    std::size_t classes = 0;        // 1 + the largest label, of int32 labels; fit_to_model says it

    std::size_t size() const noexcept { return samples; }
};

struct data_sets {
    dataset train;
    dataset test;
    std::vector<std::string> notes; // of what may not be meant, "KEY: SENTENCE"
    std::string
        vocabulary_sha256; // of the vocabulary's file, 64 hexadecimal digits; empty without one
};

// Loads what the app file's `data` names. `input` is the shape of one sample that the model wants;
// samples whose elements cannot be read in this shape are an error. Blocks on files: not for an
// actor's thread. Errors: errc::data with file and byte offset, errc::io if a file cannot be read,
// with data.origin behind it; both "KEY: SENTENCE", with the key of the app file that they are about.
result<data_sets> load_data(proto::Data::Reader data, const tensor_shape& input,
                            std::uint64_t seed);

// errc::data, "KEY: SENTENCE", unless the samples are what a model takes and the labels what its loss takes; a value out of
// range is named. Labels of another shape, but as many numbers, take the wanted shape: an image as label of a flat output.
result<void> fit_to_model(dataset& data, const value_form& input, const value_form& labels);

} // namespace troupe

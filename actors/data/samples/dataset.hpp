// Samples with their labels in memory, and their source.
//
// A dataset is immutable once made: share it by reference or shared_ptr between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/data/samples/column.hpp"
#include "actors/data/samples/image_transforms.hpp"
#include "kernels/graph/value_form.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/error.hpp"

namespace troupe {

struct dataset {
    std::string name; // source of its labels, for messages
    std::string key;  // key of that source in the app file
    std::size_t samples = 0;
    column inputs;
    column labels;
    std::optional<image_transforms> transforms; // of the inputs
    // Source of its inputs, and key; empty if the same as the labels'.
    std::string inputs_name;
    std::string inputs_key;
    bool labels_are_inputs = false; // then both columns are the same but for their shapes
    // 1 + the largest label, for int32 labels; set by fit_to_model().
    std::size_t classes = 0;

    std::size_t size() const noexcept { return samples; }
};

struct data_sets {
    dataset train;
    dataset test;
    // Settings or data that may not be intended, each "KEY: SENTENCE".
    std::vector<std::string> notes;
    // SHA-256 of the vocabulary's file, 64 hexadecimal digits; empty without a vocabulary.
    std::string vocabulary_sha256;
};

// Loads the data that the app file's `data` names. `input` is the shape of one sample that the model takes; it is an error
// if samples cannot be read in that shape. Blocks on files, so not for an actor's thread. Errors: errc::data with file and
// byte offset, errc::io if a file cannot be read, with data.origin appended; both "KEY: SENTENCE", with the key of the app
// file concerned.
result<data_sets> load_data(proto::Data::Reader data, const tensor_shape& input,
                            std::uint64_t seed);

// errc::data, "KEY: SENTENCE", unless the samples fit the model and the labels fit its loss; a value out of range is named.
// Labels of another shape with as many elements take the wanted shape: an image as the label of a flat output.
result<void> fit_to_model(dataset& data, const value_form& input, const value_form& labels);

} // namespace troupe

// Labelled samples in memory, and where they come from.
//
// A dataset is a value that nobody changes once it is made: share it by reference or shared_ptr
// from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/tensor/tensor.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/error.hpp"

namespace troupe {

// Samples are kept as bytes, 0 for 0.0 and 255 for 1.0, as image files have them: a quarter of the
// memory of floats.
struct dataset {
    std::string name;          // where its labels came from, for messages
    tensor_shape sample_shape; // of one sample, as the model wants it: (channels, height, width) or
                               // (features)
    std::size_t classes = 0;   // largest label + 1
    std::vector<std::uint8_t> samples; // size() x sample_shape, row-major
    std::vector<std::int32_t> labels;  // one per sample, 0 <= label < classes

    std::size_t size() const noexcept { return labels.size(); }
    std::size_t sample_elements() const noexcept { return sample_shape.elements(); }
    std::span<const std::uint8_t> sample(std::size_t index) const noexcept {
        return {samples.data() + index * sample_elements(), sample_elements()};
    }
};

struct data_sets {
    dataset train;
    dataset test;
};

// Loads what the app file's `data` names. `input` is the shape of one sample that the model wants;
// images whose elements cannot be read in this shape are an error. Blocks on files: not for an
// actor's thread. Errors: errc::data with file and byte offset, errc::io if a file cannot be read;
// both "KEY: SENTENCE", with the key of the app file that they are about.
result<data_sets> load_data(proto::Data::Reader data, const tensor_shape& input,
                            std::uint64_t seed);

// errc::data if a label does not fit into a model with `outputs` outputs. Names the sample.
result<void> check_labels(const dataset& data, std::size_t outputs);

} // namespace troupe

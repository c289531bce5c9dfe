// Random images whose labels can be learned, for tests and benchmarks that need no files.
//
// Every class has a prototype of random bytes; a sample is its class's prototype half-mixed with
// noise. Training and test samples of one seed share the prototypes and differ in the noise.
// Classes take turns, so that each has its share.
#pragma once

#include "actors/data/dataset.hpp"

namespace troupe {

// Same options and seed, same bytes, on every machine. errc::data if the samples exceed
// limits::dataset_bytes_max.
result<data_sets> make_synthetic_data(proto::SyntheticData::Reader options,
                                      const tensor_shape& input, std::uint64_t seed);

} // namespace troupe

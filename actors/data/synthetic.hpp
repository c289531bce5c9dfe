// Random samples whose labels can be learned, for tests and benchmarks that need no files.
//
// Every class has a prototype: random bytes, of which a sample is its class's half-mixed with noise; or random tokens, of
// which a sample has about half, the others being noise. Training and test samples of one seed share the prototypes and
// differ in the noise. Classes take turns, so that each has its share.
//
// With next_token, samples are walks over the tokens: from each, three steps in four go to a successor of its own, and the
// others anywhere. The label at every position is the token after it; the
// first source_length positions have none.
#pragma once

#include "actors/data/dataset.hpp"

namespace troupe {

// Same options and seed, same values, on every machine. errc::data if the samples exceed
// limits::dataset_bytes_max, or if there are no tokens to follow each other.
result<data_sets> make_synthetic_data(proto::SyntheticData::Reader options,
                                      const tensor_shape& input, std::uint64_t seed);

} // namespace troupe

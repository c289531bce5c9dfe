// Random samples with labels that can be learned, for tests and benchmarks without files.
//
// Every class has a prototype: random bytes, which a sample of the class mixes half and half with noise; or random tokens,
// about half of which a sample has, with noise for the rest. Training and test samples of one seed share the prototypes and
// differ in the noise. Classes alternate, so that all are equally frequent.
//
// With next_token, samples are walks over the tokens: from each token, three steps in four go to its successor and the
// others to any token. The label at each position is the next token; the first source_length positions have none.
#pragma once

#include "actors/data/samples/dataset.hpp"

namespace troupe {

// The same options and seed give the same values on every machine. errc::data if the samples exceed
// limits::dataset_bytes_max, or if there are no tokens for next_token.
result<data_sets> make_synthetic_data(proto::SyntheticData::Reader options,
                                      const tensor_shape& input, std::uint64_t seed);

} // namespace troupe

// Dropout: elements become 0 at random (Srivastava et al. 2014).
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// Which mask.
struct dropout_key {
    std::uint64_t stream = 0; // another one for every layer of every run
    std::uint64_t minibatch = 0;
};

// output = kept ? input / (1 - probability) : 0. Its derivative is itself: applied to the output's gradient with the same
// key it gives the input's, so that no mask is stored.
//
// An element is known by its index e in the whole minibatch, (first_row + row) * elements of a row + element of the row, so
// that the mask is the same however the minibatch is cut and on every back end. It is kept where a random word is at least
// probability * 2^32: word e % 4 of Philox 4x32-10 (schemas/base/philox.hpp) with the stream as its key and e / 4 and the
// minibatch as its counter, lower halves first.
struct dropout {
    float probability; // of becoming 0; at least 0 and below 1
    dropout_key key;
    std::uint64_t first_row; // place of the input's first row in its minibatch
    const tensor& input;     // (rows, ...), row-major
    tensor& output;          // like input; may be it

    result<void> check() const;
};

} // namespace troupe

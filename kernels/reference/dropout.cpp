#include <cmath>

#include "kernels/reference/reference_operations.hpp"
#include "schemas/base/philox.hpp"

namespace troupe {

namespace {

// The random word of element `e` of the minibatch.
std::uint32_t random_word(const dropout_key& key, std::uint64_t e) {
    const auto word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const philox_words at =
        philox({{word(e / 4), word(e / 4 >> 32), word(key.minibatch), word(key.minibatch >> 32)}},
               {{word(key.stream), word(key.stream >> 32)}});
    return at.word[e % 4];
}

} // namespace

result<void> reference_operations::compute(const dropout& op) {
    const double probability = op.probability;
    const std::uint64_t first = op.first_row * op.input.shape().without_first().elements();
    for (std::size_t i = 0; i < op.input.elements(); ++i) {
        const bool kept = random_word(op.key, first + i) >= std::floor(std::ldexp(probability, 32));
        op.output.mutable_values<float>()[i] =
            kept ? static_cast<float>(op.input.values<float>()[i] / (1 - probability)) : 0;
    }
    return {};
}

} // namespace troupe

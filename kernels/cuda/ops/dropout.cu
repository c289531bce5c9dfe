#include <cmath>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/map.hpp"
#include "kernels/cuda/random.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr unsigned words_of_counter = 4;

// ---- kernels ----------------------------------------------------------------------------------------------------------

// A pass over the elements that have their random words from one counter.
struct dropout_pass {
    const float* input;
    float* output;
    std::size_t count;
    std::uint64_t first; // the place of the first element in the whole minibatch
    dropout_key key;
    std::uint32_t threshold;
    float factor;

    __device__ void operator()(std::size_t group) const {
        const philox_words random =
            cuda::random_words(first / words_of_counter + group, key.minibatch, key.stream);
        const auto passed = [&](unsigned k, float x) {
            return random.word[k] >= threshold ? x * factor : 0.f;
        };
        const std::size_t skipped = first % words_of_counter;
        if (skipped == 0) {
            const std::size_t at = words_of_counter * group;
            auto some = cuda::load<words_of_counter>(input + at, count - at);
#pragma unroll
            for (unsigned k = 0; k < words_of_counter; ++k)
                some.at[k] = passed(k, some.at[k]);
            cuda::store(output + at, count - at, some);
            return;
        }
#pragma unroll
        for (unsigned k = 0; k < words_of_counter; ++k) {
            // Wraps to a large number before the first element.
            const std::size_t i = words_of_counter * group + k - skipped;
            if (i < count)
                output[i] = passed(k, input[i]);
        }
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const dropout& op) {
    const std::size_t count = op.input.elements();
    const std::uint64_t first = op.first_row * op.input.shape().without_first().elements();
    const double probability{op.probability};
    const std::size_t groups =
        count == 0 ? 0
                   : (first % words_of_counter + count + words_of_counter - 1) / words_of_counter;
    return cuda::checked(
        cuda::launch_elements(
            run_.stream(), groups,
            dropout_pass{.input = cuda::floats(op.input),
                         .output = cuda::floats(op.output),
                         .count = count,
                         .first = first,
                         .key = op.key,
                         .threshold = static_cast<std::uint32_t>(std::ldexp(probability, 32)),
                         .factor = static_cast<float>(1 / (1 - probability))}),
        {&op.input});
}

} // namespace troupe

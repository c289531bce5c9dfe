#include <cfloat>
#include <cmath>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/map.hpp"
#include "kernels/cuda/rounded.hpp"
#include "kernels/cuda/row_reductions.hpp"

namespace troupe {

namespace {

using cuda::root;
using cuda::rounded;

// ---- helpers ----------------------------------------------------------------------------------------------------------

__device__ float no_nan(float x) {
    return x == x ? x : INFINITY;
}

// A bitonic sort (Batcher 1968) whose places are known when this is compiled, so that all stay in registers.
template <unsigned N>
__device__ void sort(float (&values)[N]) {
#pragma unroll
    for (unsigned run = 2; run <= N; run *= 2)
#pragma unroll
        for (unsigned distance = run / 2; distance > 0; distance /= 2)
#pragma unroll
            for (unsigned i = 0; i < N; ++i)
                if (const unsigned other = i ^ distance; other > i) {
                    const float low = fminf(values[i], values[other]);
                    const float high = fmaxf(values[i], values[other]);
                    values[i] = (i & run) == 0 ? low : high;
                    values[other] = (i & run) == 0 ? high : low;
                }
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

struct compensation {
    float factor;
    __device__ void operator()(const float (&in)[3], float (&out)[1]) const {
        const auto [gradient, weight, pulled] = in;
        const rounded g = gradient;
        out[0] = (g + factor * g * g * (weight - rounded{pulled})).value;
    }
};

struct scaled_compensation { // by the mean square
    float factor, decay;
    __device__ void operator()(const float (&in)[4], float (&out)[2]) const {
        const auto [gradient, weight, pulled, mean_square] = in;
        const rounded g = gradient;
        const rounded mean = decay * rounded{mean_square} + (1 - decay) * g * g;
        const rounded scaled = factor / root(mean + compensate_delay::epsilon);
        out[0] = (g + scaled * g * g * (weight - rounded{pulled})).value;
        out[1] = mean.value;
    }
};

struct trimmed_inputs {
    const float* at[trimmed_mean::inputs_max];
    unsigned count, trim;
};

// N is at least the number of inputs: what is missing is sorted behind them.
template <unsigned N>
struct trimming {
    trimmed_inputs inputs;
    float* output;
    __device__ void operator()(std::size_t i) const {
        float values[N];
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            values[k] = k < inputs.count ? no_nan(inputs.at[k][i]) : INFINITY;
        sort(values);
        float sum = 0;
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            if (k >= inputs.trim && k + inputs.trim < inputs.count)
                sum += values[k];
        output[i] = sum / static_cast<float>(inputs.count - 2 * inputs.trim);
    }
};

struct difference {
    const float* x;
    const float* y;
    __device__ float operator()(std::size_t, std::size_t i) const {
        return no_nan(fabsf(x[i] - y[i]));
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const compensate_delay& op) {
    const float* const gradient = cuda::floats(op.gradient);
    const float* const weight = cuda::floats(op.weight);
    const float* const pulled = cuda::floats(op.pulled);
    const std::size_t count = op.gradient.elements();
    const auto launched =
        op.mean_square == nullptr
            ? cuda::launch_map(run_.stream(), count, compensation{op.factor},
                               cuda::map_operands<3, 1>{{gradient, weight, pulled},
                                                        {cuda::floats(op.corrected)}})
            : cuda::launch_map(run_.stream(), count, scaled_compensation{op.factor, op.decay},
                               cuda::map_operands<4, 2>{
                                   {gradient, weight, pulled, cuda::floats(op.mean_square)},
                                   {cuda::floats(op.corrected), cuda::floats(op.new_mean_square)}});
    return cuda::checked(launched, {&op.gradient});
}

result<void> cuda_operations::start(const trimmed_mean& op) {
    trimmed_inputs inputs{.at = {},
                          .count = static_cast<unsigned>(op.inputs.size()),
                          .trim = static_cast<unsigned>(op.trim)};
    for (std::size_t k = 0; k < op.inputs.size(); ++k)
        inputs.at[k] = cuda::floats(op.inputs[k]);
    const auto trim = [&]<unsigned N>(std::integral_constant<unsigned, N>) {
        return cuda::launch_elements(run_.stream(), op.output.elements(),
                                     trimming<N>{inputs, cuda::floats(op.output)});
    };
    const auto launched = inputs.count <= 4    ? trim(std::integral_constant<unsigned, 4>{})
                          : inputs.count <= 8  ? trim(std::integral_constant<unsigned, 8>{})
                          : inputs.count <= 16 ? trim(std::integral_constant<unsigned, 16>{})
                          : inputs.count <= 32 ? trim(std::integral_constant<unsigned, 32>{})
                                               : trim(std::integral_constant<unsigned, 64>{});
    return cuda::checked(launched, {&op.output});
}

result<void> cuda_operations::start(const largest_difference& op) {
    const auto largest =
        cuda::reduced(run_, op.x.elements(), 0.f,
                      difference{cuda::floats(op.x), cuda::floats(op.y)}, cuda::larger{}, {&op.x});
    if (!largest)
        return largest.failure();
    op.largest = *largest;
    return {};
}

} // namespace troupe

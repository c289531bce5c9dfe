#include "kernels/cuda/pointwise.hpp"

#include <type_traits>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/map.hpp"
#include "kernels/cuda/sigmoid.hpp"

namespace troupe {

namespace {

using cuda::sigmoid;

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr float inverse_sqrt_2 = 0.70710678118654752f;
constexpr float inverse_sqrt_2_pi = 0.39894228040143268f;
constexpr float sqrt_2_over_pi = 0.79788456080286536f;
constexpr float tanh_cube = 0.044715f;

__device__ float value_of(pointwise function, float x) {
    switch (function) {
    case pointwise::relu:
        return x > 0 || x != x ? x : 0;
    case pointwise::gelu:
        return 0.5f * x * (1 + erff(x * inverse_sqrt_2));
    case pointwise::gelu_tanh:
        return 0.5f * x * (1 + tanhf(sqrt_2_over_pi * (x + tanh_cube * x * x * x)));
    case pointwise::silu:
        return x * sigmoid(x);
    case pointwise::sigmoid:
        return sigmoid(x);
    case pointwise::tanh:
        break;
    }
    return tanhf(x);
}

// The slope at the output where that is kept, else at the input.
__device__ float slope_of(pointwise function, float kept) {
    switch (function) {
    case pointwise::relu:
        return kept > 0 ? 1 : 0;
    case pointwise::gelu:
        return 0.5f * (1 + erff(kept * inverse_sqrt_2)) +
               kept * inverse_sqrt_2_pi * expf(-0.5f * kept * kept);
    case pointwise::gelu_tanh: {
        const float t = tanhf(sqrt_2_over_pi * (kept + tanh_cube * kept * kept * kept));
        const float inner = sqrt_2_over_pi * (1 + 3 * tanh_cube * kept * kept);
        return 0.5f * (1 + t) + 0.5f * kept * (1 - t * t) * inner;
    }
    case pointwise::silu: {
        const float s = sigmoid(kept);
        return s * (1 + kept * (1 - s));
    }
    case pointwise::sigmoid:
        return kept * (1 - kept);
    case pointwise::tanh:
        break;
    }
    return 1 - kept * kept;
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <pointwise Function>
struct forward_pass {
    __device__ void operator()(const float (&in)[1], float (&out)[1]) const {
        out[0] = value_of(Function, in[0]);
    }
};

template <pointwise Function>
struct backward_pass {
    __device__ void operator()(const float (&in)[2], float (&out)[1]) const {
        const auto [kept, gradient] = in;
        out[0] = slope_of(Function, kept) * gradient;
    }
};

struct swiglu_pass {
    __device__ void operator()(const float (&in)[2], float (&out)[1]) const {
        const auto [gate, up] = in;
        out[0] = gate * sigmoid(gate) * up;
    }
};

struct swiglu_back_pass {
    __device__ void operator()(const float (&in)[3], float (&out)[2]) const {
        const auto [gate, up, gradient] = in;
        const float s = sigmoid(gate);
        out[0] = gradient * up * s * (1 + gate * (1 - s));
        out[1] = gradient * gate * s;
    }
};

// ---- launchers --------------------------------------------------------------------------------------------------------

// Calls launch(std::integral_constant<pointwise, function>{}).
template <class Launch>
cudaError_t with_function(pointwise function, const Launch& launch) {
    switch (function) {
    case pointwise::relu:
        return launch(std::integral_constant<pointwise, pointwise::relu>{});
    case pointwise::gelu:
        return launch(std::integral_constant<pointwise, pointwise::gelu>{});
    case pointwise::gelu_tanh:
        return launch(std::integral_constant<pointwise, pointwise::gelu_tanh>{});
    case pointwise::silu:
        return launch(std::integral_constant<pointwise, pointwise::silu>{});
    case pointwise::sigmoid:
        return launch(std::integral_constant<pointwise, pointwise::sigmoid>{});
    case pointwise::tanh:
        break;
    }
    return launch(std::integral_constant<pointwise, pointwise::tanh>{});
}

} // namespace

cudaError_t cuda::apply(pointwise function, const float* from, float* to, std::size_t count,
                        cudaStream_t stream) {
    const map_operands<1, 1> operands{{from}, {to}};
    return with_function(function,
                         [&]<pointwise Function>(std::integral_constant<pointwise, Function>) {
                             return launch_map(stream, count, forward_pass<Function>{}, operands);
                         });
}

result<void> cuda_operations::start(const pointwise_forward& op) {
    return cuda::checked(cuda::apply(op.function, cuda::floats(op.input), cuda::floats(op.output),
                                     op.input.elements(), run_.stream()),
                         {&op.input});
}

result<void> cuda_operations::start(const pointwise_backward& op) {
    const cuda::map_operands<2, 1> operands{
        {cuda::floats(op.kept), cuda::floats(op.output_gradient)},
        {cuda::floats(op.input_gradient)}};
    return cuda::checked(
        with_function(op.function,
                      [&]<pointwise Function>(std::integral_constant<pointwise, Function>) {
                          return cuda::launch_map(run_.stream(), op.kept.elements(),
                                                  backward_pass<Function>{}, operands);
                      }),
        {&op.kept});
}

result<void> cuda_operations::start(const swiglu_forward& op) {
    return cuda::checked(
        cuda::launch_map(run_.stream(), op.gate.elements(), swiglu_pass{},
                         cuda::map_operands<2, 1>{{cuda::floats(op.gate), cuda::floats(op.up)},
                                                  {cuda::floats(op.output)}}),
        {&op.gate});
}

result<void> cuda_operations::start(const swiglu_backward& op) {
    return cuda::checked(
        cuda::launch_map(
            run_.stream(), op.gate.elements(), swiglu_back_pass{},
            cuda::map_operands<3, 2>{
                {cuda::floats(op.gate), cuda::floats(op.up), cuda::floats(op.output_gradient)},
                {cuda::floats(op.gate_gradient), cuda::floats(op.up_gradient)}}),
        {&op.gate});
}

} // namespace troupe

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/map.hpp"
#include "kernels/cuda/rounded.hpp"

namespace troupe {

namespace {

using cuda::rounded;

// ---- kernels ----------------------------------------------------------------------------------------------------------

struct scaled_sum {
    float factor;
    __device__ void operator()(const float (&in)[2], float (&out)[1]) const {
        const auto [x, y] = in;
        out[0] = (x + rounded{factor} * y).value;
    }
};

struct multiple {
    float factor;
    __device__ void operator()(const float (&in)[1], float (&out)[1]) const {
        out[0] = factor * in[0];
    }
};

struct bounded {
    float limit;
    __device__ void operator()(const float (&in)[1], float (&out)[1]) const {
        const float x = in[0];
        out[0] = x > limit ? limit : x < -limit ? -limit : x;
    }
};

struct velocity_step {
    float momentum, scale;
    __device__ void operator()(const float (&in)[3], float (&out)[2]) const {
        const auto [gradient, velocity, sum] = in;
        const rounded next = momentum * rounded{velocity} + scale * rounded{gradient};
        out[0] = next.value;
        out[1] = (sum + next).value;
    }
};

struct filled {
    float value;
    float* output;
    std::size_t count;
    __device__ void operator()(std::size_t group) const {
        cuda::store<4>(output + 4 * group, count - 4 * group, {value, value, value, value});
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const add_scaled& op) {
    return cuda::checked(
        cuda::launch_map(run_.stream(), op.x.elements(), scaled_sum{op.factor},
                         cuda::map_operands<2, 1>{{cuda::floats(op.x), cuda::floats(op.y)},
                                                  {cuda::floats(op.sum)}}),
        {&op.x});
}

result<void> cuda_operations::start(const scale& op) {
    return cuda::checked(cuda::launch_map(run_.stream(), op.input.elements(), multiple{op.factor},
                                          cuda::map_operands<1, 1>{{cuda::floats(op.input)},
                                                                   {cuda::floats(op.output)}}),
                         {&op.input});
}

result<void> cuda_operations::start(const clip& op) {
    return cuda::checked(cuda::launch_map(run_.stream(), op.input.elements(), bounded{op.limit},
                                          cuda::map_operands<1, 1>{{cuda::floats(op.input)},
                                                                   {cuda::floats(op.output)}}),
                         {&op.input});
}

result<void> cuda_operations::start(const momentum_correction& op) {
    return cuda::checked(
        cuda::launch_map(
            run_.stream(), op.gradient.elements(), velocity_step{op.momentum, op.scale},
            cuda::map_operands<3, 2>{
                {cuda::floats(op.gradient), cuda::floats(op.velocity), cuda::floats(op.sum)},
                {cuda::floats(op.new_velocity), cuda::floats(op.new_sum)}}),
        {&op.gradient});
}

result<void> cuda_operations::start(const fill& op) {
    const std::size_t count = op.output.elements();
    return cuda::checked(cuda::launch_elements(run_.stream(), (count + 3) / 4,
                                               filled{op.value, cuda::floats(op.output), count}),
                         {&op.output});
}

} // namespace troupe

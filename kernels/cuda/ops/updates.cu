#include <cmath>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/map.hpp"
#include "kernels/cuda/rounded.hpp"

namespace troupe {

namespace {

using cuda::root;
using cuda::rounded;

// ---- helpers ----------------------------------------------------------------------------------------------------------

// 1 / (1 - beta^t), for an average that began with 0.
float bias_scale(float beta, std::uint64_t t) {
    return static_cast<float>(1 / (1 - std::pow(double{beta}, static_cast<double>(t))));
}

// The mean and the squares of Adam and their quotient.
struct moments {
    rounded mean, squares, direction;
};

template <class Settings>
struct moments_rule {
    Settings settings;
    float mean_scale, squares_scale;

    moments_rule(const Settings& s, std::uint64_t step)
        : settings{s}, mean_scale{bias_scale(s.beta1, step)}, squares_scale{
                                                                  bias_scale(s.beta2, step)} {}

    __device__ moments next(rounded mean, rounded squares, rounded g) const {
        const auto& s = settings;
        mean = s.beta1 * mean + (1 - s.beta1) * g;
        squares = s.beta2 * squares + (1 - s.beta2) * g * g;
        return {mean, squares, mean * mean_scale / (root(squares * squares_scale) + s.epsilon)};
    }
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

// Operands are weight, gradient and state, new weight and new state. The bits are those of the CPU back end.

template <unsigned States>
struct sgd_step { // with a velocity or none
    sgd_settings settings;
    float rate;
    __device__ void operator()(const float (&in)[2 + States], float (&out)[1 + States]) const {
        const rounded w = in[0];
        const rounded decayed =
            settings.weight_decay != 0 ? in[1] + settings.weight_decay * w : rounded{in[1]};
        const rounded g = settings.gradient_scale * decayed;
        rounded step = g;
        if constexpr (States == 1) {
            const rounded v = rounded{settings.momentum} * in[2] + g;
            step = settings.nesterov ? g + settings.momentum * v : v;
            out[1] = v.value;
        }
        out[0] = (w - rate * step).value;
    }
};

struct adagrad_step {
    adagrad_settings settings;
    float rate;
    __device__ void operator()(const float (&in)[3], float (&out)[2]) const {
        const rounded w = in[0];
        const rounded g = in[1] + settings.weight_decay * w;
        const rounded squares = in[2] + g * g;
        out[0] = (w - rate * g / (root(squares) + settings.epsilon)).value;
        out[1] = squares.value;
    }
};

struct rmsprop_step {
    rmsprop_settings settings;
    float rate;
    __device__ void operator()(const float (&in)[3], float (&out)[2]) const {
        const rounded w = in[0], decay = settings.decay;
        const rounded g = in[1] + settings.weight_decay * w;
        const rounded squares = decay * in[2] + (1 - decay) * g * g;
        out[0] = (w - rate * g / (root(squares) + settings.epsilon)).value;
        out[1] = squares.value;
    }
};

struct adadelta_step {
    adadelta_settings settings;
    float rate;
    __device__ void operator()(const float (&in)[4], float (&out)[3]) const {
        const rounded w = in[0], u = in[3], decay = settings.decay;
        const rounded g = in[1] + settings.weight_decay * w;
        const rounded squares = decay * in[2] + (1 - decay) * g * g;
        const rounded d = root(u + settings.epsilon) / root(squares + settings.epsilon) * g;
        out[0] = (w - rate * d).value;
        out[1] = squares.value;
        out[2] = (decay * u + (1 - decay) * d * d).value;
    }
};

struct adam_step {
    moments_rule<adam_settings> rule;
    float rate;
    float coupled, kept; // weight decay in the gradient, and what is left of the weight

    adam_step(const adam_settings& s, const update_operands& o)
        : rule{s, o.step}, rate{o.learning_rate}, coupled{s.decoupled ? 0 : s.weight_decay},
          kept{s.decoupled ? 1 - o.learning_rate * s.weight_decay : 1} {}

    __device__ void operator()(const float (&in)[4], float (&out)[3]) const {
        const rounded w = in[0];
        const moments next = rule.next(in[2], in[3], in[1] + coupled * w);
        out[0] = (kept * w - rate * next.direction).value;
        out[1] = next.mean.value;
        out[2] = next.squares.value;
    }
};

struct lamb_step {
    moments_rule<lamb_settings> rule;
    __device__ void operator()(const float (&in)[4], float (&out)[3]) const {
        const moments next = rule.next(in[2], in[3], in[1]);
        out[0] = (next.direction + rounded{rule.settings.weight_decay} * in[0]).value;
        out[1] = next.mean.value;
        out[2] = next.squares.value;
    }
};

// ---- launchers --------------------------------------------------------------------------------------------------------

template <unsigned States, class Step>
result<void> step_by(const Step& step, const update_operands& o, cudaStream_t stream) {
    cuda::map_operands<2 + States, 1 + States> operands{
        {cuda::floats(o.weight), cuda::floats(o.gradient)}, {cuda::floats(o.new_weight)}};
    if constexpr (States > 0)
        for (unsigned i = 0; i < States; ++i) {
            operands.in[2 + i] = cuda::floats(o.state[i]);
            operands.out[1 + i] = cuda::floats(o.new_state[i]);
        }
    return cuda::checked(cuda::launch_map(stream, o.weight.elements(), step, operands),
                         {&o.weight});
}

} // namespace

result<void> cuda_operations::start(const sgd_update& op) {
    const auto& [s, o] = op;
    return s.momentum != 0 ? step_by<1>(sgd_step<1>{s, o.learning_rate}, o, run_.stream())
                           : step_by<0>(sgd_step<0>{s, o.learning_rate}, o, run_.stream());
}

result<void> cuda_operations::start(const adagrad_update& op) {
    const auto& [s, o] = op;
    return step_by<1>(adagrad_step{s, o.learning_rate}, o, run_.stream());
}

result<void> cuda_operations::start(const rmsprop_update& op) {
    const auto& [s, o] = op;
    return step_by<1>(rmsprop_step{s, o.learning_rate}, o, run_.stream());
}

result<void> cuda_operations::start(const adadelta_update& op) {
    const auto& [s, o] = op;
    return step_by<2>(adadelta_step{s, o.learning_rate}, o, run_.stream());
}

result<void> cuda_operations::start(const adam_update& op) {
    const auto& [s, o] = op;
    return step_by<2>(adam_step{s, o}, o, run_.stream());
}

result<void> cuda_operations::start(const lamb_direction& op) {
    const auto& [s, o] = op;
    return step_by<2>(lamb_step{{s, o.step}}, o, run_.stream());
}

} // namespace troupe

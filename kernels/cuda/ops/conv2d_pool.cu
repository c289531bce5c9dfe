#include "kernels/cuda/cuda_operations.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// In scratch memory.
result<tensor> made_in_scratch(cuda::execution& run, const tensor_shape& shape) {
    auto memory = run.scratch(shape.elements() * sizeof(float));
    if (!memory)
        return memory.failure();
    return tensor{data_type::float32, shape, std::move(*memory)};
}

// The shape of what the convolution gives to the pool.
template <class Operation>
tensor_shape between(const Operation& op) {
    const tensor_shape &images = op.input.shape(), &weight = op.weight.shape();
    const auto [stride, padding] = std::pair{op.settings.stride, op.settings.padding};
    return {images[0], weight[0], windows_along(images[2], weight[2], stride, padding),
            windows_along(images[3], weight[3], stride, padding)};
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

// relu behind the pool gives the same and has less to do: it keeps the order of what it lets through, and what it does not
// is no output above 0, whose position matters.
result<void> cuda_operations::start(const conv2d_pool_forward& op) {
    auto convolved = made_in_scratch(run_, between(op));
    if (!convolved)
        return convolved.failure();
    if (auto done = start(conv2d_forward{op.settings, op.input, op.weight, op.bias, *convolved});
        !done)
        return done;
    if (auto done = start(max_pool_forward{op.pool, *convolved, op.output, op.positions}); !done)
        return done;
    return start(pointwise_forward{pointwise::relu, op.output, op.output});
}

result<void> cuda_operations::start(const conv2d_pool_backward& op) {
    // An output of 0 means that relu let nothing through its window.
    auto pooled = made_in_scratch(run_, op.output.shape());
    if (!pooled)
        return pooled.failure();
    if (auto done =
            start(pointwise_backward{pointwise::relu, op.output, op.output_gradient, *pooled});
        !done)
        return done;
    auto convolved = made_in_scratch(run_, between(op));
    if (!convolved)
        return convolved.failure();
    if (auto done = start(max_pool_backward{op.pool, *pooled, op.positions, *convolved}); !done)
        return done;
    return start(conv2d_backward{op.settings, op.input, op.weight, *convolved, op.input_gradient,
                                 op.weight_gradient, op.bias_gradient});
}

} // namespace troupe

#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/rows.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// Both norms of rows: without a mean and a bias, which are null, that of the root mean square.
struct row_norm {
    std::size_t rows, width;
    const float *input, *weight, *bias;
    float epsilon;
    float *output, *mean, *inverse_deviation;
};

struct row_norm_gradients {
    std::size_t rows, width;
    const float *input, *weight, *mean, *inverse_deviation, *output_gradient;
    float* input_gradient; // may be output_gradient
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <class Threads, bool has_mean>
__global__ void forward_kernel(row_norm n) {
    for (std::size_t row = Threads::first_row(); row < n.rows; row += Threads::row_step()) {
        const float* const x = n.input + row * n.width;
        float* const y = n.output + row * n.width;
        float m = 0;
        if constexpr (has_mean) {
            float sum = 0;
            for (std::size_t c = Threads::index(); c < n.width; c += Threads::count())
                sum += x[c];
            m = Threads::together(sum) / static_cast<float>(n.width);
        }
        float squares = 0;
        for (std::size_t c = Threads::index(); c < n.width; c += Threads::count())
            squares += (x[c] - m) * (x[c] - m);
        const float r =
            1 / sqrtf(Threads::together(squares) / static_cast<float>(n.width) + n.epsilon);
        for (std::size_t c = Threads::index(); c < n.width; c += Threads::count())
            y[c] = (x[c] - m) * r * n.weight[c] + (has_mean ? n.bias[c] : 0);
        if (Threads::index() == 0) {
            n.inverse_deviation[row] = r;
            if constexpr (has_mean)
                n.mean[row] = m;
        }
    }
}

template <class Threads, bool has_mean>
__global__ void input_gradient_kernel(row_norm_gradients n) {
    for (std::size_t row = Threads::first_row(); row < n.rows; row += Threads::row_step()) {
        const float* const x = n.input + row * n.width;
        const float* const dy = n.output_gradient + row * n.width;
        float* const dx = n.input_gradient + row * n.width;
        const float m = has_mean ? n.mean[row] : 0;
        const float r = n.inverse_deviation[row];
        float sum = 0, products = 0;
        for (std::size_t c = Threads::index(); c < n.width; c += Threads::count()) {
            const float g = n.weight[c] * dy[c];
            sum += g;
            products += g * ((x[c] - m) * r);
        }
        const float mean_g = has_mean ? Threads::together(sum) / static_cast<float>(n.width) : 0;
        const float mean_gx = Threads::together(products) / static_cast<float>(n.width);
        for (std::size_t c = Threads::index(); c < n.width; c += Threads::count())
            dx[c] = r * (n.weight[c] * dy[c] - mean_g - (x[c] - m) * r * mean_gx);
    }
}

// Block y sums its group of rows, every thread a column.
template <bool has_mean>
__global__ void sum_group_kernel(row_norm_gradients n, std::size_t rows_of_group, float* to_weight,
                                 float* to_bias) {
    const std::size_t column = cuda::first_element();
    if (column >= n.width)
        return;
    const std::size_t first = blockIdx.y * rows_of_group;
    const std::size_t end = first + rows_of_group < n.rows ? first + rows_of_group : n.rows;
    float products = 0, sum = 0;
#pragma unroll 4
    for (std::size_t row = first; row < end; ++row) {
        const float g = n.output_gradient[row * n.width + column];
        const float x = n.input[row * n.width + column];
        products += g * ((x - (has_mean ? n.mean[row] : 0)) * n.inverse_deviation[row]);
        sum += g;
    }
    to_weight[blockIdx.y * n.width + column] = products;
    if constexpr (has_mean)
        to_bias[blockIdx.y * n.width + column] = sum;
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

namespace {

template <bool has_mean>
cudaError_t launch_forward(const row_norm& n, cudaStream_t stream) {
    return cuda::launch_rows(stream, n.rows, n.width, forward_kernel<cuda::warp_of_row, has_mean>,
                             forward_kernel<cuda::block_of_row, has_mean>, n);
}

// The gradients of weight and bias first: that of the input may be written where they read.
template <bool has_mean>
result<void> launch_backward(const row_norm_gradients& n, float* to_weight, float* to_bias,
                             const tensor& input, cuda::execution& run) {
    const cuda::row_groups groups{n.rows};
    auto scratch = run.scratch((has_mean ? 2 : 1) * groups.count * n.width * sizeof(float));
    if (!scratch)
        return scratch.failure();
    float* const weights_of_groups = cuda::floats(*scratch);
    float* const biases_of_groups = weights_of_groups + groups.count * n.width;
    if (auto done = cuda::checked(cuda::launch(run.stream(), {groups.grid(n.width)},
                                               sum_group_kernel<has_mean>, n, groups.rows,
                                               weights_of_groups, biases_of_groups),
                                  {&input});
        !done)
        return done;
    if (auto done = cuda::sum_rows({weights_of_groups, groups.count, n.width, to_weight}, run);
        !done)
        return done;
    if constexpr (has_mean)
        if (auto done = cuda::sum_rows({biases_of_groups, groups.count, n.width, to_bias}, run);
            !done)
            return done;
    if (n.input_gradient == nullptr)
        return {};
    return cuda::checked(cuda::launch_rows(run.stream(), n.rows, n.width,
                                           input_gradient_kernel<cuda::warp_of_row, has_mean>,
                                           input_gradient_kernel<cuda::block_of_row, has_mean>, n),
                         {&input});
}

} // namespace

result<void> cuda_operations::start(const layer_norm_forward& op) {
    return cuda::checked(
        launch_forward<true>({op.mean.elements(), op.weight.elements(), cuda::floats(op.input),
                              cuda::floats(op.weight), cuda::floats(op.bias), op.epsilon,
                              cuda::floats(op.output), cuda::floats(op.mean),
                              cuda::floats(op.inverse_deviation)},
                             run_.stream()),
        {&op.input});
}

result<void> cuda_operations::start(const layer_norm_backward& op) {
    return launch_backward<true>(
        {op.mean.elements(), op.weight.elements(), cuda::floats(op.input), cuda::floats(op.weight),
         cuda::floats(op.mean), cuda::floats(op.inverse_deviation),
         cuda::floats(op.output_gradient), cuda::floats(op.input_gradient)},
        cuda::floats(op.weight_gradient), cuda::floats(op.bias_gradient), op.input, run_);
}

result<void> cuda_operations::start(const rms_norm_forward& op) {
    return cuda::checked(launch_forward<false>(
                             {op.inverse_deviation.elements(), op.weight.elements(),
                              cuda::floats(op.input), cuda::floats(op.weight), nullptr, op.epsilon,
                              cuda::floats(op.output), nullptr, cuda::floats(op.inverse_deviation)},
                             run_.stream()),
                         {&op.input});
}

result<void> cuda_operations::start(const rms_norm_backward& op) {
    return launch_backward<false>(
        {op.inverse_deviation.elements(), op.weight.elements(), cuda::floats(op.input),
         cuda::floats(op.weight), nullptr, cuda::floats(op.inverse_deviation),
         cuda::floats(op.output_gradient), cuda::floats(op.input_gradient)},
        cuda::floats(op.weight_gradient), nullptr, op.input, run_);
}

} // namespace troupe

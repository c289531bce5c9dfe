#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/convolution_runner.hpp"
#include "kernels/cpu/loops.hpp"

namespace troupe {

namespace {

using cpu::loops;

bool has_avx512() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return false;
#endif
}

const loops& fastest_loops() noexcept {
#if defined(__x86_64__)
    if (has_avx512())
        return cpu::loops_avx512;
    if (__builtin_cpu_supports("avx2"))
        return cpu::loops_avx2;
#endif
    return cpu::loops_baseline;
}

// The widest vector of floats that oneDNN's convolutions use here.
std::size_t vector_floats() noexcept {
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
        return 8;
    default:
        return 16;
    }
}

// Turns the exceptions of oneDNN and of scratch memory into errors.
template <class Work>
result<void> guarded(Work work) {
    const cpu::arithmetic_scope scope;
    try {
        work();
        return {};
    } catch (const cpu::out_of_memory& failure) {
        return failure.why;
    } catch (const dnnl::error& failure) {
        if (failure.status == dnnl_out_of_memory)
            return error{errc::exhausted, "the system has no memory left for oneDNN"};
        return error{errc::usage,
                     std::string{"oneDNN cannot compute this shape: "} + failure.what()};
    }
}

// c = alpha a b + beta c, all row-major; a is (m, k) or, transposed, (k, m); b likewise.
struct matrix_product {
    bool transpose_a, transpose_b;
    std::size_t m, n, k;
    const float *a, *b;
    float beta;
    float* c;

    void run() const {
        const auto d = [](std::size_t size) { return static_cast<dnnl::memory::dim>(size); };
        dnnl::sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', d(m), d(n), d(k), 1, a,
                    d(transpose_a ? m : k), b, d(transpose_b ? k : n), beta, c, d(n));
    }
};

class cpu_operations final : public operations {
  public:
    explicit cpu_operations(memory_pool& pool)
        : loops_{fastest_loops()}, convolutions_{pool, loops_, has_avx512() && block_ == 16} {}

    std::string_view name() const noexcept override { return "cpu"; }
    std::size_t channel_block(std::size_t channels) const noexcept override {
        return channels % block_ == 0 ? block_ : 1;
    }

  private:
    result<void> do_linear_forward(const linear_forward_operands& operands) override;
    result<void> do_linear_backward(const linear_backward_operands& operands) override;
    result<void> do_conv2d_forward(const conv2d_forward_operands& operands) override;
    result<void> do_conv2d_backward(const conv2d_backward_operands& operands) override;
    result<void> do_max_pool_forward(const max_pool_forward_operands& operands) override;
    result<void> do_max_pool_backward(const max_pool_backward_operands& operands) override;
    result<void> do_conv2d_pool_forward(const conv2d_pool_forward_operands& operands) override;
    result<void> do_conv2d_pool_backward(const conv2d_pool_backward_operands& operands) override;
    result<void> do_relu_forward(const tensor& input, tensor& output) override;
    result<void> do_relu_backward(const tensor& output, const tensor& output_gradient,
                                  tensor& input_gradient) override;
    result<softmax_cross_entropy_sums>
    do_softmax_cross_entropy(const softmax_cross_entropy_operands& operands) override;
    result<void> do_momentum_update(const momentum_update_operands& operands) override;
    result<void> do_add_scaled(const tensor& x, float factor, const tensor& y,
                               tensor& result) override;
    result<void> do_fill(tensor& output, float value) override;
    result<void> do_change_block(const tensor& input, std::size_t input_block, tensor& output,
                                 std::size_t output_block) override;

    const std::size_t block_ = vector_floats();
    const loops& loops_;
    cpu::convolution_runner convolutions_;
};

const float* floats(const tensor& t) {
    return t.values<float>().data();
}
float* floats(tensor& t) {
    return t.mutable_values<float>().data();
}

result<void> cpu_operations::do_linear_forward(const linear_forward_operands& operands) {
    const std::size_t samples = operands.input.shape()[0];
    const std::size_t outs = operands.weight.shape()[0];
    const std::size_t ins = operands.weight.shape()[1];
    float* output = floats(operands.output);
    for (std::size_t s = 0; s < samples; ++s)
        std::copy_n(floats(operands.bias), outs, output + s * outs);
    return guarded([&] {
        matrix_product{
            false, true,  samples, outs, ins, floats(operands.input), floats(operands.weight),
            1,     output}
            .run();
    });
}

result<void> cpu_operations::do_linear_backward(const linear_backward_operands& operands) {
    const std::size_t samples = operands.input.shape()[0];
    const std::size_t outs = operands.weight.shape()[0];
    const std::size_t ins = operands.weight.shape()[1];
    const float* gradient = floats(operands.output_gradient);
    return guarded([&] {
        float* bias = floats(operands.bias_gradient);
        std::copy_n(gradient, outs, bias);
        for (std::size_t s = 1; s < samples; ++s)
            loops_.add_scaled(bias, 1, gradient + s * outs, bias, outs);
        matrix_product{true,
                       false,
                       outs,
                       ins,
                       samples,
                       gradient,
                       floats(operands.input),
                       0,
                       floats(operands.weight_gradient)}
            .run();
        if (operands.input_gradient != nullptr)
            matrix_product{false,
                           false,
                           samples,
                           ins,
                           outs,
                           gradient,
                           floats(operands.weight),
                           0,
                           floats(*operands.input_gradient)}
                .run();
    });
}

result<void> cpu_operations::do_conv2d_forward(const conv2d_forward_operands& operands) {
    return guarded([&] { convolutions_.forward(operands); });
}

result<void> cpu_operations::do_conv2d_backward(const conv2d_backward_operands& operands) {
    return guarded([&] { convolutions_.backward(operands); });
}

result<void> cpu_operations::do_conv2d_pool_forward(const conv2d_pool_forward_operands& operands) {
    return guarded([&] { convolutions_.forward(operands); });
}

result<void>
cpu_operations::do_conv2d_pool_backward(const conv2d_pool_backward_operands& operands) {
    return guarded([&] { convolutions_.backward(operands); });
}

result<void> cpu_operations::do_max_pool_forward(const max_pool_forward_operands& operands) {
    const cpu::arithmetic_scope scope;
    const auto task = cpu::pooling(operands.settings, operands.input.shape(), false);
    loops_.pool_forward(task, floats(operands.input), floats(operands.output),
                        operands.positions.mutable_data());
    return {};
}

result<void> cpu_operations::do_max_pool_backward(const max_pool_backward_operands& operands) {
    const cpu::arithmetic_scope scope;
    const auto task = cpu::pooling(operands.settings, operands.input_gradient.shape(), false);
    const float* gradient = floats(operands.output_gradient);
    loops_.pool_backward(task, gradient, gradient, operands.positions.data(),
                         floats(operands.input_gradient));
    return {};
}

result<void> cpu_operations::do_relu_forward(const tensor& input, tensor& output) {
    const cpu::arithmetic_scope scope;
    loops_.relu_forward(floats(input), floats(output), input.elements());
    return {};
}

result<void> cpu_operations::do_relu_backward(const tensor& output, const tensor& output_gradient,
                                              tensor& input_gradient) {
    const cpu::arithmetic_scope scope;
    loops_.relu_backward(floats(output), floats(output_gradient), floats(input_gradient),
                         output.elements());
    return {};
}

result<softmax_cross_entropy_sums>
cpu_operations::do_softmax_cross_entropy(const softmax_cross_entropy_operands& operands) {
    const cpu::arithmetic_scope scope;
    const std::size_t samples = operands.logits.shape()[0];
    const std::size_t classes = operands.logits.shape()[1];
    softmax_cross_entropy_sums sums;
    for (std::size_t s = 0; s < samples; ++s) {
        const float* row = floats(operands.logits) + s * classes;
        float* gradient =
            operands.gradient != nullptr ? floats(*operands.gradient) + s * classes : nullptr;
        const auto label = static_cast<std::size_t>(operands.labels.values<std::int32_t>()[s]);
        const float largest = *std::max_element(row, row + classes);
        double total = 0;
        bool correct = true; // written so that a NaN is never correct
        for (std::size_t c = 0; c < classes; ++c) {
            const float power = std::exp(row[c] - largest);
            total += double{power};
            if (gradient != nullptr)
                gradient[c] = power;
            correct = correct && (c < label ? row[c] < row[label] : row[c] <= row[label]);
        }
        sums.loss += std::log(total) + double{largest} - double{row[label]};
        sums.correct += correct;
        if (gradient != nullptr) {
            const float share = static_cast<float>(double{operands.scale} / total);
            for (std::size_t c = 0; c < classes; ++c)
                gradient[c] *= share;
            gradient[label] -= operands.scale;
        }
    }
    return sums;
}

result<void> cpu_operations::do_momentum_update(const momentum_update_operands& operands) {
    const cpu::arithmetic_scope scope;
    loops_.momentum_update(operands.learning_rate, operands.momentum, floats(operands.gradient),
                           floats(operands.weight), floats(operands.velocity),
                           floats(operands.new_weight), floats(operands.new_velocity),
                           operands.weight.elements());
    return {};
}

result<void> cpu_operations::do_add_scaled(const tensor& x, float factor, const tensor& y,
                                           tensor& result) {
    const cpu::arithmetic_scope scope;
    loops_.add_scaled(floats(x), factor, floats(y), floats(result), x.elements());
    return {};
}

result<void> cpu_operations::do_fill(tensor& output, float value) {
    std::ranges::fill(output.mutable_values<float>(), value);
    return {};
}

result<void> cpu_operations::do_change_block(const tensor& input, std::size_t input_block,
                                             tensor& output, std::size_t output_block) {
    const auto& shape = input.shape();
    const std::size_t pixels = shape[2] * shape[3];
    const std::size_t block = std::max(input_block, output_block);
    const std::size_t groups = shape[0] * shape[1] / block;
    if (input_block == output_block)
        std::copy_n(floats(input), input.elements(), floats(output));
    else if (input_block == 1)
        loops_.interleave(floats(input), floats(output), groups, block, pixels);
    else if (output_block == 1)
        loops_.separate(floats(input), floats(output), groups, block, pixels);
    else
        return error{errc::usage,
                     "change_block: this back end converts from and to row-major only"};
    return {};
}

} // namespace

std::unique_ptr<operations> make_cpu_operations(memory_pool& pool) {
    return std::make_unique<cpu_operations>(pool);
}

} // namespace troupe

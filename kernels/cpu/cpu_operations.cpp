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
    result<void> compute(const linear_forward& op) override;
    result<void> compute(const linear_backward& op) override;
    result<void> compute(const conv2d_forward& op) override;
    result<void> compute(const conv2d_backward& op) override;
    result<void> compute(const max_pool_forward& op) override;
    result<void> compute(const max_pool_backward& op) override;
    result<void> compute(const conv2d_pool_forward& op) override;
    result<void> compute(const conv2d_pool_backward& op) override;
    result<void> compute(const change_block& op) override;
    result<void> compute(const relu_forward& op) override;
    result<void> compute(const relu_backward& op) override;
    result<void> compute(const add_scaled& op) override;
    result<void> compute(const fill& op) override;
    result<void> compute(const softmax_cross_entropy& op) override;
    result<void> compute(const momentum_update& op) override;

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

result<void> cpu_operations::compute(const linear_forward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t outs = op.weight.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    float* output = floats(op.output);
    for (std::size_t s = 0; s < samples; ++s)
        std::copy_n(floats(op.bias), outs, output + s * outs);
    return guarded([&] {
        matrix_product{false, true,  samples, outs, ins, floats(op.input), floats(op.weight),
                       1,     output}
            .run();
    });
}

result<void> cpu_operations::compute(const linear_backward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t outs = op.weight.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    const float* gradient = floats(op.output_gradient);
    return guarded([&] {
        float* bias = floats(op.bias_gradient);
        std::copy_n(gradient, outs, bias);
        for (std::size_t s = 1; s < samples; ++s)
            loops_.add_scaled(bias, 1, gradient + s * outs, bias, outs);
        matrix_product{true,
                       false,
                       outs,
                       ins,
                       samples,
                       gradient,
                       floats(op.input),
                       0,
                       floats(op.weight_gradient)}
            .run();
        if (op.input_gradient != nullptr)
            matrix_product{false,
                           false,
                           samples,
                           ins,
                           outs,
                           gradient,
                           floats(op.weight),
                           0,
                           floats(*op.input_gradient)}
                .run();
    });
}

result<void> cpu_operations::compute(const conv2d_forward& op) {
    return guarded([&] { convolutions_.forward(op); });
}

result<void> cpu_operations::compute(const conv2d_backward& op) {
    return guarded([&] { convolutions_.backward(op); });
}

result<void> cpu_operations::compute(const conv2d_pool_forward& op) {
    return guarded([&] { convolutions_.forward(op); });
}

result<void> cpu_operations::compute(const conv2d_pool_backward& op) {
    return guarded([&] { convolutions_.backward(op); });
}

result<void> cpu_operations::compute(const max_pool_forward& op) {
    const cpu::arithmetic_scope scope;
    const auto task = cpu::pooling(op.settings, op.input.shape(), false);
    loops_.pool_forward(task, floats(op.input), floats(op.output), op.positions.mutable_data());
    return {};
}

result<void> cpu_operations::compute(const max_pool_backward& op) {
    const cpu::arithmetic_scope scope;
    const auto task = cpu::pooling(op.settings, op.input_gradient.shape(), false);
    const float* gradient = floats(op.output_gradient);
    loops_.pool_backward(task, gradient, gradient, op.positions.data(), floats(op.input_gradient));
    return {};
}

result<void> cpu_operations::compute(const relu_forward& op) {
    const cpu::arithmetic_scope scope;
    loops_.relu_forward(floats(op.input), floats(op.output), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const relu_backward& op) {
    const cpu::arithmetic_scope scope;
    loops_.relu_backward(floats(op.output), floats(op.output_gradient), floats(op.input_gradient),
                         op.output.elements());
    return {};
}

result<void> cpu_operations::compute(const softmax_cross_entropy& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t samples = op.logits.shape()[0];
    const std::size_t classes = op.logits.shape()[1];
    op.sums = {};
    for (std::size_t s = 0; s < samples; ++s) {
        const float* row = floats(op.logits) + s * classes;
        float* gradient = op.gradient != nullptr ? floats(*op.gradient) + s * classes : nullptr;
        const auto label = static_cast<std::size_t>(op.labels.values<std::int32_t>()[s]);
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
        op.sums.loss += std::log(total) + double{largest} - double{row[label]};
        op.sums.correct += correct;
        if (gradient != nullptr) {
            const float share = static_cast<float>(double{op.scale} / total);
            for (std::size_t c = 0; c < classes; ++c)
                gradient[c] *= share;
            gradient[label] -= op.scale;
        }
    }
    return {};
}

result<void> cpu_operations::compute(const momentum_update& op) {
    const cpu::arithmetic_scope scope;
    loops_.momentum_update(op.learning_rate, op.momentum, floats(op.gradient), floats(op.weight),
                           floats(op.velocity), floats(op.new_weight), floats(op.new_velocity),
                           op.weight.elements());
    return {};
}

result<void> cpu_operations::compute(const add_scaled& op) {
    const cpu::arithmetic_scope scope;
    loops_.add_scaled(floats(op.x), op.factor, floats(op.y), floats(op.sum), op.x.elements());
    return {};
}

result<void> cpu_operations::compute(const fill& op) {
    std::ranges::fill(op.output.mutable_values<float>(), op.value);
    return {};
}

result<void> cpu_operations::compute(const change_block& op) {
    const auto& shape = op.input.shape();
    const std::size_t pixels = shape[2] * shape[3];
    const std::size_t block = std::max(op.input_block, op.output_block);
    const std::size_t groups = shape[0] * shape[1] / block;
    if (op.input_block == op.output_block)
        std::copy_n(floats(op.input), op.input.elements(), floats(op.output));
    else if (op.input_block == 1)
        loops_.interleave(floats(op.input), floats(op.output), groups, block, pixels);
    else if (op.output_block == 1)
        loops_.separate(floats(op.input), floats(op.output), groups, block, pixels);
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

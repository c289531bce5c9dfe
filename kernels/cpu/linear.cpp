#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>

#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/loops.hpp"

namespace troupe {

using cpu::floats;

namespace {

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

} // namespace

result<void> cpu_operations::compute(const linear_forward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t outs = op.weight.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    float* output = floats(op.output);
    for (std::size_t s = 0; s < samples; ++s)
        std::copy_n(floats(op.bias), outs, output + s * outs);
    return cpu::guarded([&] {
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
    return cpu::guarded([&] {
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

} // namespace troupe

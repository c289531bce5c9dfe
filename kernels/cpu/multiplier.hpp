// Matrix products in the precision that an operation asks for.
#pragma once

#include "kernels/cpu/bf16_loops.hpp"
#include "kernels/cpu/product_loops.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/ops/precision.hpp"

namespace troupe::cpu {

// May throw dnnl::error or out_of_memory; see guarded.hpp.
struct multiplier {
    memory_pool& pool;
    const bf16_loops& loops;
    const product_loops& float_loops;
    precision products;

    void operator()(const matrix_product& product) const {
        if (products == precision::float16)
            return multiply_halves(product);
        if (products != precision::bfloat16)
            return multiply_floats(product);
        const scratch workspace{pool, loops.workspace_bytes(product)};
        loops.multiply(product, workspace.floats());
    }

  private:
    void multiply_floats(const matrix_product& product) const {
        if (!float_loops.suits(product))
            return product.run();
        const scratch workspace{pool, float_loops.workspace_floats * sizeof(float)};
        float_loops.multiply(product, workspace.floats());
    }

    // No processor that we know is faster in half precision: rounded copies, multiplied as float32.
    void multiply_halves(matrix_product product) const {
        const auto floats_of = [](const matrix& m, std::size_t rows, std::size_t columns) {
            return m.transposed ? (columns - 1) * m.stride + rows : (rows - 1) * m.stride + columns;
        };
        const std::size_t of_a = floats_of(product.a, product.m, product.k);
        const std::size_t of_b = floats_of(product.b, product.k, product.n);
        const scratch a{pool, of_a * sizeof(float)}, b{pool, of_b * sizeof(float)};
        loops.round(products, product.a.first, a.floats(), of_a);
        loops.round(products, product.b.first, b.floats(), of_b);
        product.a.first = a.floats();
        product.b.first = b.floats();
        multiply_floats(product);
    }
};

} // namespace troupe::cpu

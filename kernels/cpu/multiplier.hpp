// Matrix products in the precision that an operation asks for.
#pragma once

#include "kernels/cpu/bf16_loops.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/ops/precision.hpp"

namespace troupe::cpu {

// May throw dnnl::error or out_of_memory; see guarded.hpp.
struct multiplier {
    memory_pool& pool;
    const bf16_loops& loops;
    precision products;

    void operator()(const matrix_product& product) const {
        if (products != precision::bfloat16)
            return product.run();
        const scratch workspace{pool, loops.workspace_bytes(product)};
        loops.multiply(product, workspace.floats());
    }
};

} // namespace troupe::cpu

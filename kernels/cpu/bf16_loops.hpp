// Matrix products of factors that are rounded to bfloat16 (kernels/ops/precision.hpp) on their way into the packed form, and
// the rounding of factors for others. Compiled once per instruction set as the loops of loops.hpp and under the same rule:
// no result depends on it.
//
// Every sum runs over k in one order, of each pair of k the odd one first, and is rounded to float32 after every product: as
// the dot product of AVX512_BF16 does it. So multiply-adds of float32 give the same bits, and each machine takes what is
// faster there; nor do results depend on how a product is cut along m and n. (But for products below the smallest normal
// float32, which only some of them round to 0.)
#pragma once

#include <cstddef>

#include "kernels/cpu/matrix_product.hpp"
#include "kernels/ops/precision.hpp"

namespace troupe::cpu {

struct bf16_loops {
    // Bytes of the workspace of a product, which must begin at a multiple of 64 bytes.
    std::size_t (*workspace_bytes)(const matrix_product& product);
    // alpha must be 1, beta 0 or 1.
    void (*multiply)(const matrix_product& product, void* workspace);
    // Numbers as factors of bfloat16 or float16 products have them, as float32, for products that are made elsewhere; `to`
    // may be `from`.
    void (*round)(precision products, const float* from, float* to, std::size_t count);
};

extern const bf16_loops bf16_loops_baseline;
extern const bf16_loops bf16_loops_avx2;
extern const bf16_loops bf16_loops_avx512;
extern const bf16_loops bf16_loops_avx512bf16;

// The fastest of this machine's instruction sets. Those of AVX512_BF16 on AMD's processors alone: Zen 4 does them at twice
// the rate of float32 multiply-adds (oneDNN's products; ours have not been measured there), Intel's Emerald Rapids at half
// of it.
const bf16_loops& fastest_bf16_loops() noexcept;

// True if this machine multiplies bfloat16 faster than float32.
bool bf16_is_faster() noexcept;

} // namespace troupe::cpu

// How exactly matrix products are computed.
#pragma once

#include <cstdint>

namespace troupe {

// float32: as float32 is. bfloat16: the numbers of both factors are rounded to bfloat16, which has 8 bits of significand and
// the exponents of float32: to nearest, ties to even, denormal ones to 0. Their products, which float32 holds exactly, are
// added in float32. What goes into an operation and comes out of it is float32 either way.
// tfloat32: a back end may round the numbers of both factors to 11 bits of significand; processors take them as they are.
// float16: the numbers of both factors are rounded to 11 bits of significand, as IEEE's half precision has them: to nearest,
// ties to even, denormal ones of float32 to 0. Half precision has few exponents, so that each factor gets a scale of its
// own, a power of two that brings its largest number near the largest of half precision: gradients of any size are as exact
// as others, and no step is left out. Within one factor a back end may round numbers below 2^-28 of the largest to multiples
// of 2^-38 of it (where the product of both factors' largest is a normal float32; else coarser). This is loss scaling that
// adapts by itself, product by product (for each layer: Zhao et al., Adaptive Loss Scaling for Mixed Precision Training,
// 2019).
enum class precision : std::uint8_t { float32, bfloat16, tfloat32, float16 };

// Whether every back end rounds the numbers of factors.
constexpr bool rounds(precision products) noexcept {
    return products == precision::bfloat16 || products == precision::float16;
}

} // namespace troupe

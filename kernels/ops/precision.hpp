// How exactly matrix products are computed.
#pragma once

#include <cstdint>

namespace troupe {

// float32: as float32 is. bfloat16: the numbers of both factors are rounded to bfloat16, which has 8 bits of significand and
// the exponents of float32: to nearest, ties to even, denormal ones to 0. Their products, which float32 holds exactly, are
// added in float32. What goes into an operation and comes out of it is float32 either way.
// tfloat32: a back end may round the numbers of both factors to 11 bits of significand; processors take them as they are.
enum class precision : std::uint8_t { float32, bfloat16, tfloat32 };

} // namespace troupe

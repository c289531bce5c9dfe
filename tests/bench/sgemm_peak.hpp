// The fastest that this machine multiplies float32 matrices on one core: what other figures are shares of.
#pragma once

#include "schemas/base/time_source.hpp"

namespace troupe::bench {

// Floating-point operations per second of oneDNN's sgemm at 1024^3, one thread; the best of several.
double sgemm_peak_flops(const time_source& time);

} // namespace troupe::bench

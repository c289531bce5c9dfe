// The readable back end: plain loops that state what every operation means. The oracle that others
// are tested against.
//
// Sums are taken in double, so that it is more exact than what it judges. Slow.
#pragma once

#include <memory>

#include "kernels/ops/ops.hpp"

namespace troupe {

std::unique_ptr<operations> make_reference_operations();

} // namespace troupe

#include "kernels/reference/reference.hpp"

#include <algorithm>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

void round_into(const std::vector<double>& sums, tensor& output) {
    std::ranges::transform(sums, output.mutable_values<float>().begin(),
                           [](double x) { return static_cast<float>(x); });
}

std::unique_ptr<operations> make_reference_operations() {
    return std::make_unique<reference_operations>();
}

} // namespace troupe

#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <bit>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

void round_into(const std::vector<double>& sums, tensor& output) {
    std::ranges::transform(sums, output.mutable_values<float>().begin(),
                           [](double x) { return static_cast<float>(x); });
}

// The upper bits of float32, to the nearer, of two as near the even one.
double factor(double x, precision products) {
    if (!rounds(products) || x != x)
        return x;
    const std::uint32_t dropped = products == precision::bfloat16 ? 16 : 13;
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    const std::uint32_t below_half = (1u << (dropped - 1)) - 1;
    const std::uint32_t nearest = bits + below_half + (bits >> dropped & 1);
    return double{std::bit_cast<float>(nearest >> dropped << dropped)};
}

std::unique_ptr<operations> make_reference_operations() {
    return std::make_unique<reference_operations>();
}

} // namespace troupe

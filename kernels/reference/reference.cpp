#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <bit>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

void round_into(const std::vector<double>& sums, tensor& output) {
    std::ranges::transform(sums, output.mutable_values<float>().begin(),
                           [](double x) { return static_cast<float>(x); });
}

// Of bfloat16 the upper half of the bits of float32, to the nearer, of two as near the even one.
double factor(double x, precision products) {
    if (products != precision::bfloat16 || x != x)
        return x;
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    return double{std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000)};
}

std::unique_ptr<operations> make_reference_operations() {
    return std::make_unique<reference_operations>();
}

} // namespace troupe

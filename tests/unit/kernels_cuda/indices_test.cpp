#include <boost/test/unit_test.hpp>

#include "kernels/cuda/indices.hpp"

#include "schemas/base/random.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(indices)

BOOST_AUTO_TEST_CASE(a_multiplication_divides_as_a_division_does) {
    constexpr std::uint32_t numbers = 1u << 31;
    random_stream random{3};
    std::vector<std::uint32_t> divisors;
    for (std::uint32_t d = 1; d < 300; ++d)
        divisors.push_back(d);
    for (std::uint32_t power = 1u << 8; power <= 1u << 30; power *= 2)
        for (const std::uint32_t d : {power - 1, power, power + 1})
            divisors.push_back(d);
    for (int i = 0; i < 1000; ++i)
        divisors.push_back(1 + static_cast<std::uint32_t>(random.below(numbers - 1)));
    for (const std::uint32_t d : {numbers - 1, numbers})
        divisors.push_back(d);
    for (const std::uint32_t d : divisors) {
        const cuda::divisor<std::uint32_t> by{d};
        const auto check = [&](std::uint32_t n) {
            const auto [quotient, remainder] = by.divide(n);
            if (quotient != n / d || remainder != n % d)
                BOOST_ERROR(n << " / " << d << " is not " << quotient << ", " << remainder);
        };
        for (const std::uint32_t n : {0u, 1u, d - 1, d % numbers, numbers - 1})
            check(n);
        for (int i = 0; i < 100; ++i) {
            const auto n = static_cast<std::uint32_t>(random.below(numbers));
            check(n);
            check(n / d * d); // where the quotient changes
            check(n / d * d + d - 1 < numbers ? n / d * d + d - 1 : n);
        }
    }
}

BOOST_AUTO_TEST_CASE(large_sizes_are_counted_with_64_bits) {
    const auto bytes_of = [](std::initializer_list<std::size_t> sizes) {
        std::size_t bytes = 0;
        (void)cuda::with_index(sizes, [&](auto index) {
            bytes = sizeof index;
            return cudaSuccess;
        });
        return bytes;
    };
    BOOST_TEST(bytes_of({7, (1ull << 31) - 1}) == 4u);
    BOOST_TEST(bytes_of({7, 1ull << 31}) == 8u);
    const cuda::divisor<std::size_t> by{3};
    BOOST_TEST(by.divide(1ull << 40).quotient == (1ull << 40) / 3);
    BOOST_TEST(by.divide(1ull << 40).remainder == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

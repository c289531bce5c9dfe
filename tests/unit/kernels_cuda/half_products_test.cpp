// Products in half precision, whose factors have scales: what other products do not show.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/products.hpp"
#include "tests/unit/kernels_cuda/emulated_convolutions.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// c = a b of (2, 2) and (2, 2), in rows that are `stride` apart; `between` lies between them. c was NaN.
std::vector<float> multiplied(const std::vector<float>& a, const std::vector<float>& b,
                              std::size_t stride = 2, float between = 0) {
    emulated_gpu gpu;
    const auto laid_out = [&](const std::vector<float>& numbers) {
        tensor t = tensor::allocate(gpu.pool(), data_type::float32, {2, stride}).value();
        for (std::size_t i = 0; i < t.elements(); ++i)
            t.mutable_values<float>()[i] =
                i % stride < 2 ? numbers[i / stride * 2 + i % stride] : between;
        return t;
    };
    const tensor left = laid_out(a), right = laid_out(b);
    tensor c = tensor::allocate(gpu.pool(), data_type::float32, {2, 2}).value();
    std::ranges::fill(c.mutable_values<float>(), no_number);
    const auto done = gpu.waited(gpu.run().multiply()({.m = 2,
                                                       .n = 2,
                                                       .k = 2,
                                                       .a = {left.values<float>().data(), stride},
                                                       .b = {right.values<float>().data(), stride},
                                                       .c = c.mutable_values<float>().data(),
                                                       .c_stride = 2,
                                                       .numbers = precision::float16},
                                                      gpu.run().stream()));
    BOOST_REQUIRE(done.ok());
    const auto values = c.values<float>();
    return {values.begin(), values.end()};
}

const std::vector<float> one{1, 0, 0, 1};

} // namespace

BOOST_AUTO_TEST_SUITE(half_products)

BOOST_AUTO_TEST_CASE(numbers_of_any_size_come_through) {
    for (const float size : {0x1p-125f, 0x1p-100f, 0x1p-20f, 1.f, 0x1p20f, 0x1p100f, 0x1p127f}) {
        const std::vector<float> x{size, 0.75f * size, -size, 0.5f * size};
        BOOST_TEST(multiplied(x, one) == x, boost::test_tools::per_element());
        BOOST_TEST(multiplied(one, x) == x, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_small_factor_and_a_large_one_have_the_product_that_float32_has) {
    const auto times = [](float by) { return std::vector{by, 0.f, 0.f, by}; };
    for (const auto& [a, b] : {std::pair{0x1p66f, 0x1p-33f}, std::pair{0x1p-61f, 0x1p-61f},
                               std::pair{0x1p-120f, 0x1p120f}, std::pair{0x1p-120f, 0x1p-5f},
                               std::pair{0x1p120f, 0x1p7f}})
        BOOST_TEST(multiplied(times(a), times(b)) == times(a * b),
                   boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_number_stays_visible) {
    for (const float size : {0x1p-20f, 1.f, 0x1p20f}) {
        const std::vector<float> x{size, size, size, size};
        for (const float c : multiplied(std::vector(4, no_number), x))
            BOOST_TEST(std::isnan(c));
        for (const float c : multiplied(std::vector(4, infinity), x))
            BOOST_TEST(c == infinity);
        // Of one number that is none the row, and no other.
        const auto of_row = multiplied({no_number, size, size, size}, one);
        BOOST_TEST((std::isnan(of_row[0]) && std::isnan(of_row[1])));
        BOOST_TEST((of_row[2] == size && of_row[3] == size));
    }
    BOOST_TEST(multiplied(std::vector(4, 0.f), one) == std::vector(4, 0.f),
               boost::test_tools::per_element());
    for (const float c : multiplied(std::vector(4, 0.f), std::vector(4, infinity)))
        BOOST_TEST(std::isnan(c));
}

BOOST_AUTO_TEST_CASE(what_lies_between_rows_scales_nothing) {
    const std::vector<float> x{0.5f, 0x1p-20f, -0x1p-24f, 0.25f};
    for (const float between : {0x1p100f, infinity, no_number})
        BOOST_TEST(multiplied(x, one, 3, between) == x, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(beside_a_large_number_small_ones_lose_their_last_bits) {
    // 1 is scaled to 2^14, and half precision ends at 2^-24.
    BOOST_TEST(multiplied({1, 0x1.004p-28f, 0x1p-38f, 0x1p-40f}, one) ==
                   (std::vector{1.f, 0x1.004p-28f, 0x1p-38f, 0.f}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

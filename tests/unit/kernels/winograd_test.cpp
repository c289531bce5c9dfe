// Which convolutions go by Winograd's algorithm. That they give what the reference gives is checked with the other
// operations, by rows of tests/conformance/operations_cases.cpp.
#include <boost/test/unit_test.hpp>

#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/winograd_runner.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

convolution_shape shape(std::size_t in, std::size_t size, std::size_t out, std::size_t kernel = 3,
                        std::size_t stride = 1, std::size_t padding = 1) {
    conv2d_settings settings;
    settings.stride = stride;
    settings.padding = padding;
    return {2, in, size, size, out, kernel, kernel, true, settings};
}

} // namespace

BOOST_AUTO_TEST_CASE(suits_three_by_three_kernels_at_stride_one_with_enough_channels) {
    memory_pool pool{1 << 20};
    const winograd_runner runner{pool, loops_baseline, bf16_loops_baseline, true};
    BOOST_TEST(runner.suits(shape(32, 14, 64)));
    BOOST_TEST(runner.suits(shape(64, 4, 80, 3, 1, 2)));
    BOOST_TEST(runner.suits(shape(32, 13, 16, 3, 1, 0)));
    BOOST_TEST(!runner.suits(shape(1, 28, 32)));    // channels not in blocks
    BOOST_TEST(!runner.suits(shape(16, 14, 16)));   // too few
    BOOST_TEST(!runner.suits(shape(512, 14, 512))); // too many
    BOOST_TEST(!runner.suits(shape(32, 5, 64)));    // most of the tiles would lie outside
    BOOST_TEST(!runner.suits(shape(32, 14, 64, 5)));
    BOOST_TEST(!runner.suits(shape(32, 14, 64, 3, 2)));
    BOOST_TEST(!runner.suits(shape(32, 14, 64, 3, 1, 3)));
    convolution_shape grouped = shape(32, 14, 64);
    grouped.settings.groups = 2;
    BOOST_TEST(!runner.suits(grouped));
}

BOOST_AUTO_TEST_CASE(nothing_suits_where_the_machine_lacks_the_instructions) {
    memory_pool pool{1 << 20};
    const winograd_runner runner{pool, loops_baseline, bf16_loops_baseline, false};
    BOOST_TEST(!runner.suits(shape(32, 14, 64)));
}

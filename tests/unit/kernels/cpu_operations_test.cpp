#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/instruction_set.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(cpu_back_end)

BOOST_AUTO_TEST_CASE(functions_are_exact_from_tiny_to_huge_arguments) {
    memory_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    const auto oracle = make_reference_operations();
    std::vector<float> arguments{0.f};
    for (float size = 1e-6f; size < 2e4f; size *= 1.07f)
        arguments.insert(arguments.end(), {size, -size});
    tensor x = tensor::allocate(pool, data_type::float32, {arguments.size()}).value();
    std::ranges::copy(arguments, x.mutable_values<float>().begin());
    tensor one = random_tensor(pool, x.shape(), 1), given = one, expected = one;
    BOOST_REQUIRE(ops->run(fill{one, 1}).ok());
    const auto compare = [&](const char* what) {
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            const double a = double{given.values<float>()[i]};
            const double b = double{expected.values<float>()[i]};
            BOOST_TEST(std::abs(a - b) <= 2e-6 * std::abs(b) + 2e-7,
                       what << " at " << arguments[i] << " is " << a << ", exactly " << b);
        }
    };
    for (const pointwise f : {pointwise::relu, pointwise::gelu, pointwise::gelu_tanh,
                              pointwise::silu, pointwise::sigmoid, pointwise::tanh}) {
        given = tensor::allocate(pool, data_type::float32, x.shape()).value();
        expected = tensor::allocate(pool, data_type::float32, x.shape()).value();
        BOOST_REQUIRE(ops->run(pointwise_forward{f, x, given}).ok());
        BOOST_REQUIRE(oracle->run(pointwise_forward{f, x, expected}).ok());
        compare("a value");
        const tensor kept = keeps_output(f) ? expected : x;
        expected = tensor::allocate(pool, data_type::float32, x.shape()).value();
        BOOST_REQUIRE(ops->run(pointwise_backward{f, kept, one, given}).ok());
        BOOST_REQUIRE(oracle->run(pointwise_backward{f, kept, one, expected}).ok());
        compare("a slope");
    }
}

BOOST_AUTO_TEST_CASE(momentum_that_fades_away_becomes_zero_instead_of_denormal) {
    memory_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    tensor velocity = random_tensor(pool, {100}, 1);
    tensor weight = random_tensor(pool, {100}, 2);
    tensor gradient = random_tensor(pool, {100}, 3);
    BOOST_REQUIRE(ops->run(fill{velocity, std::numeric_limits<float>::min()}).ok());
    BOOST_REQUIRE(ops->run(fill{gradient, 0}).ok());
    BOOST_REQUIRE(ops->run(sgd_update{{.momentum = 0.5f},
                                      {.learning_rate = 0.1f,
                                       .step = 1,
                                       .gradient = gradient,
                                       .weight = weight,
                                       .state = std::span{&velocity, 1},
                                       .new_weight = weight,
                                       .new_state = std::span{&velocity, 1}}})
                      .ok());
    BOOST_TEST(velocity.values<float>()[99] == 0.f);
    // The caller's own arithmetic is as it was.
    volatile float tiny = std::numeric_limits<float>::min();
    BOOST_TEST(std::fpclassify(tiny / 2) == FP_SUBNORMAL);
}

BOOST_AUTO_TEST_CASE(scratch_memory_past_the_bound_is_an_error) {
    memory_pool pool{1 << 20};
    memory_pool little{4096};
    const auto ops = make_cpu_operations(little);
    const tensor images = random_tensor(pool, {2, 16, 8, 8}, 1);
    const tensor weight = random_tensor(pool, {16, 16, 3, 3}, 2);
    const tensor bias = random_tensor(pool, {16}, 3);
    tensor output = random_tensor(pool, {2, 16, 8, 8}, 4);
    const auto refused = ops->run(conv2d_forward{{.padding = 1}, images, weight, &bias, output});
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.failure().code() == errc::exhausted));
    BOOST_TEST(little.statistics().bytes_in_use == 0u);
}

// Where a product has loops of its own, all operations take them.
BOOST_AUTO_TEST_CASE(a_gradient_from_its_factors_has_the_bits_of_the_layers) {
    memory_pool pool{1 << 24};
    const auto ops = make_cpu_operations(pool);
    const tensor input = random_tensor(pool, {400, 40}, 1);
    const tensor gradient = random_tensor(pool, {400, 512}, 2);
    const tensor weight = random_tensor(pool, {512, 40}, 3);
    tensor of_layer = random_tensor(pool, {512, 40}, 4),
           of_factors = random_tensor(pool, {512, 40}, 5);
    BOOST_REQUIRE(
        ops->run(linear_backward{input, weight, gradient, nullptr, &of_layer, nullptr}).ok());
    BOOST_REQUIRE(
        ops->run(matrix_multiply{{gradient, true}, {input}, 1, nullptr, of_factors}).ok());
    BOOST_TEST(std::memcmp(of_layer.data(), of_factors.data(), of_layer.bytes()) == 0);
}

BOOST_AUTO_TEST_CASE(convolutions_refuse_blocks_of_channels_that_they_cannot_compute) {
    memory_pool pool{1 << 24};
    const auto ops = make_cpu_operations(pool);
    const std::size_t block = ops->channel_block(32);
    const tensor images = random_tensor(pool, {2, 32, 8, 8}, 1);
    const tensor weight = random_tensor(pool, {32, 32, 3, 3}, 2);
    tensor output = random_tensor(pool, images.shape(), 3);
    tensor to_input = random_tensor(pool, images.shape(), 5);
    tensor to_weight = random_tensor(pool, weight.shape(), 6);
    tensor pooled = random_tensor(pool, {2, 32, 4, 4}, 4);
    tensor positions = tensor::allocate(pool, position_type(2), pooled.shape()).value();
    const auto outcomes = [&](const conv2d_settings& settings) {
        const max_pool_settings pool{2, 2, settings.output_block};
        return std::vector{
            ops->run(conv2d_forward{settings, images, weight, nullptr, output}),
            ops->run(
                conv2d_backward{settings, images, weight, output, &to_input, to_weight, nullptr}),
            ops->run(
                conv2d_pool_forward{settings, pool, images, weight, nullptr, pooled, positions}),
            ops->run(conv2d_pool_backward{settings, pool, images, weight, pooled, positions, pooled,
                                          &to_input, to_weight, nullptr})};
    };
    for (const std::size_t given : {1, 2, 4, 8, 16, 32}) {
        for (const conv2d_settings& settings :
             {conv2d_settings{.padding = 1, .input_block = given},
              conv2d_settings{.padding = 1, .output_block = given}})
            for (const auto& done : outcomes(settings)) {
                BOOST_TEST(done.ok() == (given == 1 || given == block), given);
                if (!done)
                    BOOST_TEST(done.failure().message() ==
                               "conv2d: images in blocks of " + std::to_string(given) +
                                   " channels; this processor computes them row-major or in "
                                   "blocks of " +
                                   std::to_string(block) +
                                   "; give the channel_block() of these operations");
            }
    }
}

BOOST_AUTO_TEST_CASE(a_diverged_network_stays_visible_through_relu) {
    memory_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    tensor x = random_tensor(pool, {20}, 1);
    BOOST_REQUIRE(ops->run(fill{x, std::numeric_limits<float>::quiet_NaN()}).ok());
    BOOST_REQUIRE(ops->run(pointwise_forward{pointwise::relu, x, x}).ok());
    BOOST_TEST(std::isnan(x.values<float>()[19]));
}

// Nodes that differ in it are noted, as their bits do.
BOOST_AUTO_TEST_CASE(instruction_sets_have_names_that_tell_other_bits) {
    BOOST_TEST(cpu::name_of_instruction_set(0x7, false) == "AVX2");
    BOOST_TEST(cpu::name_of_instruction_set(0xe7, false) == "AVX512_CORE_BF16");
    BOOST_TEST(cpu::name_of_instruction_set(0xe7, true) ==
               "AVX512_CORE_BF16 with dot products of bf16");
    BOOST_TEST(cpu::name_of_instruction_set(0x7fff, false) == "set 32767 of oneDNN");
    BOOST_TEST(cpu::name_of_instruction_set().ends_with("bf16") == cpu_is_faster_in_bf16());
}

BOOST_AUTO_TEST_SUITE_END()

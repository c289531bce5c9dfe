#include <boost/test/unit_test.hpp>

#include "kernels/cuda/convolution.hpp"
#include "tests/unit/kernels_cuda/emulated_convolutions.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(convolutions)

// Ranges that end within a row of windows, within a sample and with one; the last one is short.
BOOST_AUTO_TEST_CASE(ranges_of_windows_give_together_what_all_give) {
    emulated_gpu gpu;
    for (const convolution_shape& shape : {
             convolution_shape{{3, 4, 6, 5}, {6, 4, 3, 3}, {.stride = 1, .padding = 1}},
             convolution_shape{{5, 2, 7, 8}, {4, 2, 5, 5}, {.stride = 2, .padding = 4}},
             convolution_shape{{3, 4, 9, 8}, {6, 2, 2, 2}, {.stride = 3, .groups = 2}},
             convolution_shape{{4, 3, 4, 4}, {2, 3, 1, 1}, {}},
             convolution_shape{{3, 4, 6, 5}, {6, 4, 3, 2}, {.products = precision::bfloat16}},
         }) {
        const auto expected = expected_of(gpu.pool(), shape);
        const std::size_t bytes_of_window =
            4 * (shape.images[1] * shape.weight[2] * shape.weight[3] + shape.weight[0]);
        for (const std::size_t windows : {0, 8, 16, 40, 1000}) {
            const std::size_t bytes = windows * bytes_of_window;
            const auto given = results_of(
                gpu.pool(), shape,
                [&](const auto& op) { return gpu.waited(cuda::convolve(op, gpu.run(), bytes)); },
                [&](const auto& op) {
                    return gpu.waited(cuda::convolve_back(op, gpu.run(), bytes));
                });
            check_close(given, expected, 2e-5f, std::to_string(windows) + " windows at a time");
        }
    }
}

BOOST_AUTO_TEST_CASE(images_may_be_in_any_channel_block) {
    emulated_gpu gpu;
    cuda_operations ops{gpu.run()};
    for (const auto& [in, out, groups, kernel] :
         {std::array<std::size_t, 4>{1, 4, 1, 3}, std::array<std::size_t, 4>{8, 1, 1, 3},
          std::array<std::size_t, 4>{2, 4, 1, 1}, std::array<std::size_t, 4>{4, 2, 2, 3},
          std::array<std::size_t, 4>{8, 12, 4, 2}}) {
        const convolution_shape shape{
            {2, 8, 5, 6},
            {12, 8 / groups, kernel, kernel},
            {.padding = kernel / 2, .input_block = in, .output_block = out, .groups = groups}};
        const auto run = [&](const auto& op) { return gpu.waited(ops.run(op)); };
        check_close(results_of(gpu.pool(), shape, run, run), expected_of(gpu.pool(), shape), 2e-5f,
                    "blocks " + std::to_string(in) + " and " + std::to_string(out));
    }
}

BOOST_AUTO_TEST_CASE(with_relu_and_a_pool_they_give_the_bits_of_their_parts) {
    emulated_gpu gpu;
    cuda_operations ops{gpu.run()};
    const auto must = [&](const auto& op) { BOOST_REQUIRE(gpu.waited(ops.run(op)).ok()); };
    for (const std::size_t block : {1, 4}) {
        const convolution_shape shape{
            {3, 2, 9, 8}, {8, 2, 3, 3}, {.padding = 1, .output_block = block}};
        const max_pool_settings pool{3, 2, block, 1};
        const tensor_shape between = shape.output(), small{3, 8, 5, 4};
        const auto made = [&](const tensor_shape& of, data_type type = data_type::float32) {
            return tensor::allocate(gpu.pool(), type, of).value();
        };
        const tensor input = random_tensor(gpu.pool(), shape.images, 1);
        const tensor weight = random_tensor(gpu.pool(), shape.weight, 2);
        const tensor bias = random_tensor(gpu.pool(), {8}, 3);
        const tensor gradient = random_tensor(gpu.pool(), small, 4);

        tensor output = made(small), positions = made(small, data_type::uint8);
        tensor to_input = made(shape.images), to_weight = made(shape.weight), to_bias = made({8});
        must(conv2d_pool_forward{shape.settings, pool, input, weight, &bias, output, positions});
        must(conv2d_pool_backward{shape.settings, pool, input, weight, output, positions, gradient,
                                  &to_input, to_weight, &to_bias});

        tensor convolved = made(between), let_through = made(between), pooled = made(small);
        tensor from = made(small, data_type::uint8), to_pool = made(between),
               to_relu = made(between);
        tensor to_image = made(shape.images), to_kernel = made(shape.weight), to_shift = made({8});
        must(conv2d_forward{shape.settings, input, weight, &bias, convolved});
        must(pointwise_forward{pointwise::relu, convolved, let_through});
        must(max_pool_forward{pool, let_through, pooled, from});
        must(max_pool_backward{pool, gradient, from, to_pool});
        must(pointwise_backward{pointwise::relu, let_through, to_pool, to_relu});
        must(conv2d_backward{shape.settings, input, weight, to_relu, &to_image, to_kernel,
                             &to_shift});

        BOOST_TEST(bit_equal(output, pooled));
        BOOST_TEST(bit_equal(to_input, to_image));
        BOOST_TEST(bit_equal(to_weight, to_kernel));
        BOOST_TEST(bit_equal(to_bias, to_shift));
        for (std::size_t i = 0; i < output.elements(); ++i)
            BOOST_TEST((output.values<float>()[i] <= 0 ||
                        positions.values<std::uint8_t>()[i] == from.values<std::uint8_t>()[i]));
    }
}

BOOST_AUTO_TEST_SUITE_END()

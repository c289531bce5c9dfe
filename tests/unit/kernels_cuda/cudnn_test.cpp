// With an emulated cuDNN in reach: what it takes goes through it, all else the way of the products.
#include <boost/test/unit_test.hpp>

#include "tests/unit/kernels_cuda/cudnn_runs.hpp"
#include "tests/unit/kernels_cuda/emulated_convolutions.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// How many of forward, to the input and to the weight went through cuDNN; all give what they should.
unsigned done_by_cudnn(emulated_gpu& gpu, const convolution_shape& shape) {
    const unsigned before = runs_of_cudnn();
    cuda_operations ops{gpu.run()};
    const auto run = [&](const auto& op) { return gpu.waited(ops.run(op)); };
    check_close(results_of(gpu.pool(), shape, run, run), expected_of(gpu.pool(), shape), 2e-5f,
                "kernel " + std::to_string(shape.weight[2]) + ", stride " +
                    std::to_string(shape.settings.stride));
    return runs_of_cudnn() - before;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cudnn)

BOOST_AUTO_TEST_CASE(convolutions_of_row_major_images_go_through_cudnn) {
    emulated_gpu gpu;
    for (const precision products : {precision::float32, precision::bfloat16, precision::float16}) {
        const auto with = [&](conv2d_settings settings) {
            settings.products = products;
            return settings;
        };
        BOOST_TEST(done_by_cudnn(gpu, {{3, 4, 6, 5}, {6, 4, 3, 3}, with({.padding = 1})}) == 3);
        BOOST_TEST(done_by_cudnn(gpu, {{3, 4, 6, 5}, {6, 2, 3, 2}, with({.groups = 2})}) == 3);
        // Known from the heuristics' last resort alone.
        BOOST_TEST(done_by_cudnn(gpu, {{2, 2, 9, 8}, {4, 2, 5, 5}, with({.stride = 2})}) == 3);
        BOOST_TEST(done_by_cudnn(gpu, {{3, 4, 6, 5}, {6, 4, 3, 3}, with({.padding = 1})}) == 3);
    }
}

// Its tensor cores round to 11 bits, which float32 does not allow.
BOOST_AUTO_TEST_CASE(only_tfloat32_products_are_rounded_to_it) {
    emulated_gpu gpu;
    const convolution_shape exact{{2, 8, 7, 6}, {4, 8, 3, 3}, {}};
    convolution_shape rounded = exact;
    rounded.settings.products = precision::tfloat32;
    cuda_operations ops{gpu.run()};
    const auto run = [&](const auto& op) { return gpu.waited(ops.run(op)); };
    const auto of_exact = results_of(gpu.pool(), exact, run, run);
    const auto of_rounded = results_of(gpu.pool(), rounded, run, run);
    const auto expected = expected_of(gpu.pool(), exact);
    check_close(of_exact, expected, 2e-6f, "float32");
    check_close(of_rounded, expected, 2e-3f, "tfloat32");
    for (std::size_t i = 0; i < 3; ++i) // the gradient of the bias is a sum
        BOOST_TEST(!bit_equal(of_exact[i], of_rounded[i]));
}

BOOST_AUTO_TEST_CASE(what_cudnn_does_not_take_goes_the_way_of_products) {
    emulated_gpu gpu;
    // Nothing is offered; known only when it should run, twice; and blocked channels.
    BOOST_TEST(done_by_cudnn(gpu, {{3, 4, 9, 8}, {6, 2, 2, 2}, {.stride = 3, .groups = 2}}) == 0);
    const convolution_shape found_out_late{{3, 4, 6, 5}, {6, 4, 1, 2}, {}};
    BOOST_TEST(done_by_cudnn(gpu, found_out_late) == 0);
    BOOST_TEST(done_by_cudnn(gpu, found_out_late) == 0);
    BOOST_TEST(done_by_cudnn(gpu, {{2, 4, 6, 5}, {6, 4, 3, 3}, {.input_block = 4}}) == 0);
}

BOOST_AUTO_TEST_CASE(operands_at_odd_addresses_are_copied) {
    emulated_gpu gpu;
    const convolution_shape shape{{2, 3, 5, 6}, {4, 3, 3, 3}, {.padding = 1}};
    const auto made = [&](const tensor_shape& of, std::size_t offset) {
        return tensor{data_type::float32, of,
                      gpu.pool().allocate(of.elements() * sizeof(float) + offset).value(), offset};
    };
    const tensor whole = random_tensor(gpu.pool(), shape.images, 1);
    const tensor weight = random_tensor(gpu.pool(), shape.weight, 2);
    tensor moved = made(shape.images, 4);
    std::copy_n(whole.data(), whole.bytes(), moved.mutable_data());
    tensor output = made(shape.output(), 0), moved_output = made(shape.output(), 12);
    cuda_operations ops{gpu.run()};
    const unsigned before = runs_of_cudnn();
    for (const auto& [from, to] :
         {std::pair{&whole, &output}, std::pair{&std::as_const(moved), &moved_output}})
        BOOST_REQUIRE(
            gpu.waited(ops.run(conv2d_forward{shape.settings, *from, weight, nullptr, *to})).ok());
    BOOST_TEST(runs_of_cudnn() - before == 2);
    BOOST_TEST(bit_equal(output, moved_output));
}

BOOST_AUTO_TEST_CASE(a_shape_that_comes_up_between_others_is_planned_beside_them) {
    emulated_gpu gpu;
    for (const std::size_t samples : {4, 4, 3, 4})
        BOOST_TEST(done_by_cudnn(gpu, {{samples, 3, 5, 6}, {4, 3, 3, 3}, {.padding = 1}}) == 3);
}

BOOST_AUTO_TEST_CASE(a_failure_says_what_failed_on_which_shapes) {
    emulated_gpu gpu;
    const tensor images = random_tensor(gpu.pool(), {40, 2, 5, 5}, 1);
    const tensor weight = random_tensor(gpu.pool(), {3, 2, 3, 3}, 2);
    tensor output = random_tensor(gpu.pool(), {40, 3, 3, 3}, 3);
    cuda_operations ops{gpu.run()};
    const auto failed = gpu.waited(ops.run(conv2d_forward{{}, images, weight, nullptr, output}));
    BOOST_REQUIRE(!failed);
    BOOST_TEST((failed.failure().code() == errc::lost));
    const std::string& text = failed.failure().message();
    BOOST_TEST(text.find("kernels/cuda/cudnn.cpp:") != text.npos, text);
    BOOST_TEST(text.find("cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED (no batches of 40); "
                         "operands float32 [40, 2, 5, 5], float32 [3, 2, 3, 3], "
                         "float32 [40, 3, 3, 3]") != text.npos,
               text);
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "kernels/reference/reference.hpp"
#include "tests/conformance/case_runs.hpp"
#include "tests/unit/kernels/backends.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// Tests are of one back end: what it computes beside what the reference does.
struct norms {
    operand_pool pool{1ull << 24};
    std::unique_ptr<operations> reference = make_reference_operations();
    std::unique_ptr<operations> given = backends().front().make(pool);

    // To be written.
    tensor made(const tensor_shape& shape) {
        return tensor::allocate(pool, data_type::float32, shape).value();
    }
    tensor copy(const tensor& t) {
        tensor other = made(t.shape());
        std::copy_n(t.data(), t.bytes(), other.mutable_data());
        return other;
    }
    // Values less than 1 from `mean`.
    tensor far_from_0(const tensor_shape& shape, float mean) {
        tensor t = random_tensor(pool, shape, 1);
        for (float& x : t.mutable_values<float>())
            x += mean;
        return t;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(norms_of_images_and_rows, norms)

// The mean of squares less the square of the mean would be off by more than the variance.
BOOST_AUTO_TEST_CASE(variances_are_exact_however_far_the_values_are_from_0) {
    constexpr float mean = 4096;
    const tensor_shape images{2, 3, 65, 64}; // more values per channel than a block sums
    const tensor input = far_from_0(images, mean);
    const tensor weight = random_tensor(pool, {3}, 2), bias = random_tensor(pool, {3}, 3);
    std::vector<tensor> expected, results;
    for (auto* ops : {&reference, &given}) {
        tensor output = made(images), m = made({3}), v = made({3}), r = made({3});
        BOOST_REQUIRE(
            (*ops)->run(batch_norm_forward{{}, input, weight, bias, output, m, v, r}).ok());
        (ops == &given ? results : expected) = {m, v, r, output};
    }
    check_close(results, expected, 1e-3f, "batch_norm");

    for (const std::size_t width : {300, 1500}) {
        const tensor rows = far_from_0({3, width}, mean);
        const tensor scale = random_tensor(pool, {width}, 2),
                     shift = random_tensor(pool, {width}, 3);
        for (auto* ops : {&reference, &given}) {
            tensor output = made({3, width}), m = made({3}), r = made({3});
            BOOST_REQUIRE((*ops)
                              ->run(layer_norm_forward{.input = rows,
                                                       .weight = scale,
                                                       .bias = shift,
                                                       .output = output,
                                                       .mean = m,
                                                       .inverse_deviation = r})
                              .ok());
            (ops == &given ? results : expected) = {m, r, output};
        }
        check_close(results, expected, 1e-3f, "layer_norm " + std::to_string(width));
    }
}

BOOST_AUTO_TEST_CASE(outputs_may_be_the_operands_that_the_contracts_name) {
    const tensor_shape images{2, 6, 5, 3};
    const tensor input = random_tensor(pool, images, 1), gradient = random_tensor(pool, images, 2);
    const local_response_norm_settings response{.alpha = 0.7f, .k = 1.5f};
    {
        tensor apart = made(images), same = copy(input);
        BOOST_REQUIRE(given->run(local_response_norm_forward{response, input, apart}).ok());
        BOOST_REQUIRE(given->run(local_response_norm_forward{response, same, same}).ok());
        BOOST_TEST(bit_equal(apart, same), "local_response_norm_forward");
    }
    {
        tensor apart = made(images), same = copy(gradient);
        BOOST_REQUIRE(
            given->run(local_response_norm_backward{response, input, gradient, apart}).ok());
        BOOST_REQUIRE(given->run(local_response_norm_backward{response, input, same, same}).ok());
        BOOST_TEST(bit_equal(apart, same), "local_response_norm_backward");
    }
    const tensor weight = random_tensor(pool, {6}, 3), bias = random_tensor(pool, {6}, 4);
    const tensor mean = random_tensor(pool, {6}, 5), deviation = far_from_0({6}, 5);
    {
        tensor apart = made(images), same = copy(input);
        BOOST_REQUIRE(
            given->run(batch_norm_inference{{}, input, weight, bias, mean, deviation, apart}).ok());
        BOOST_REQUIRE(
            given->run(batch_norm_inference{{}, same, weight, bias, mean, deviation, same}).ok());
        BOOST_TEST(bit_equal(apart, same), "batch_norm_inference");
    }
    {
        tensor apart = made(images), same = copy(gradient), to_weight = made({6}),
               to_bias = made({6});
        for (auto [from, to] :
             {std::pair<const tensor*, tensor*>{&gradient, &apart}, {&same, &same}})
            BOOST_REQUIRE(
                given
                    ->run(batch_norm_backward{
                        {}, input, weight, mean, deviation, *from, to, to_weight, to_bias})
                    .ok());
        BOOST_TEST(bit_equal(apart, same), "batch_norm_backward");
    }
    for (const std::size_t width : {40, 1500}) {
        const tensor_shape shape{3, width};
        const tensor x = random_tensor(pool, shape, 1), dy = random_tensor(pool, shape, 2);
        const tensor scale = random_tensor(pool, {width}, 3), means = random_tensor(pool, {3}, 4);
        const tensor roots = far_from_0({3}, 5);
        tensor to_scale = made({width}), to_shift = made({width});
        tensor apart = made(shape), same = copy(dy);
        for (auto [from, to] : {std::pair<const tensor*, tensor*>{&dy, &apart}, {&same, &same}})
            BOOST_REQUIRE(given
                              ->run(layer_norm_backward{x, scale, means, roots, *from, to, to_scale,
                                                        to_shift})
                              .ok());
        BOOST_TEST(bit_equal(apart, same), "layer_norm_backward " << width);
        same = copy(dy);
        for (auto [from, to] : {std::pair<const tensor*, tensor*>{&dy, &apart}, {&same, &same}})
            BOOST_REQUIRE(given->run(rms_norm_backward{x, scale, roots, *from, to, to_scale}).ok());
        BOOST_TEST(bit_equal(apart, same), "rms_norm_backward " << width);
    }
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include <limits>

#include "kernels/reference/reference.hpp"
#include "tests/conformance/case_runs.hpp"
#include "tests/unit/kernels/backends.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

// Self attention with one head on queries, keys and values beside one another, and back from a gradient.
struct attention {
    operand_pool pool{1ull << 24};
    std::unique_ptr<operations> reference = make_reference_operations();
    std::unique_ptr<operations> given = backends().front().make(pool);
    attention_settings settings{.heads = 1, .causal = true};
    tensor lengths; // of the samples, where there is one

    struct results {
        tensor output, log_sums, gradient;
    };

    tensor made(const tensor_shape& shape) {
        tensor t = tensor::allocate(pool, data_type::float32, shape).value();
        std::ranges::fill(t.mutable_values<float>(), no_number);
        return t;
    }
    results attend(operations& ops, const tensor& packed, const tensor& output_gradient,
                   precision products) {
        const auto& shape = packed.shape();
        const std::size_t width = shape[2] / 3;
        results r{made({shape[0], shape[1], width}), made({shape[0], 1, shape[1]}), made(shape)};
        const tensor* const known = lengths ? &lengths : nullptr;
        const columns q{packed, 0}, k{packed, width}, v{packed, 2 * width};
        BOOST_REQUIRE(
            ops.run(attention_forward{settings, q, k, v, known, r.output, r.log_sums, products})
                .ok());
        BOOST_REQUIRE(ops.run(attention_backward{settings,
                                                 q,
                                                 k,
                                                 v,
                                                 known,
                                                 r.output,
                                                 r.log_sums,
                                                 output_gradient,
                                                 {r.gradient, 0},
                                                 {r.gradient, width},
                                                 {r.gradient, 2 * width},
                                                 products})
                          .ok());
        return r;
    }
};

// Some positions of the first sample, as numbers one behind the other.
tensor positions(const tensor& t, std::size_t first, std::size_t count) {
    return t.reshaped({t.shape()[0] * t.shape()[1], t.shape()[2]}).rows(first, count);
}

constexpr precision both[] = {precision::float32, precision::bfloat16};

} // namespace

BOOST_FIXTURE_TEST_SUITE(attention_on_gpus, attention)

// Scores up to some hundred, the largest behind: what a query has summed is scaled down again and again.
BOOST_AUTO_TEST_CASE(scores_may_grow_from_tile_to_tile) {
    for (const std::size_t width : {16, 72}) {
        tensor packed = random_tensor(pool, {1, 200, 3 * width}, 1);
        const tensor gradient = random_tensor(pool, {1, 200, width}, 2);
        const auto values = packed.mutable_values<float>();
        for (std::size_t i = 0; i < values.size(); ++i)
            if (i % (3 * width) < 2 * width)
                values[i] *= 8 * static_cast<float>(i) / static_cast<float>(values.size());
        for (const bool causal : {false, true})
            for (const precision products : both) {
                settings.causal = causal;
                const auto a = attend(*given, packed, gradient, products);
                const auto b = attend(*reference, packed, gradient, products);
                const float tolerance = products == precision::float32 ? 2e-5f : 6e-3f;
                check_close({a.output, a.log_sums, a.gradient}, {b.output, b.log_sums, b.gradient},
                            tolerance,
                            "width " + std::to_string(width) +
                                (products == precision::float32 ? "" : ", bf16"));
            }
    }
}

BOOST_AUTO_TEST_CASE(a_causal_position_has_the_same_bits_whatever_comes_behind_it) {
    for (const precision products : both) {
        tensor packed = random_tensor(pool, {1, 150, 3 * 24}, 1);
        const tensor gradient = random_tensor(pool, {1, 150, 24}, 2);
        const auto before = attend(*given, packed, gradient, products);
        std::ranges::fill(packed.mutable_values<float>().subspan(70 * 3 * 24), 20.f);
        const auto after = attend(*given, packed, gradient, products);
        BOOST_TEST(bit_equal(positions(before.output, 0, 70), positions(after.output, 0, 70)));
        BOOST_TEST(!bit_equal(positions(before.output, 70, 1), positions(after.output, 70, 1)));
    }
}

// Of the last sample. What is not seen is not multiplied with 0 either, which gives NaN.
BOOST_AUTO_TEST_CASE(keys_behind_a_length_may_be_no_numbers) {
    lengths = tensor::allocate(pool, data_type::int32, {2}).value();
    lengths.mutable_values<std::int32_t>()[0] = 100;
    lengths.mutable_values<std::int32_t>()[1] = 70;
    for (const bool causal : {false, true})
        for (const precision products : both) {
            settings.causal = causal;
            tensor packed = random_tensor(pool, {2, 100, 3 * 24}, 1);
            const tensor gradient = random_tensor(pool, {2, 100, 24}, 2);
            const auto before = attend(*given, packed, gradient, products);
            for (std::size_t position = 170; position < 200; ++position)
                for (std::size_t c = 24; c < 3 * 24; ++c)
                    packed.mutable_values<float>()[position * 3 * 24 + c] = no_number;
            const auto after = attend(*given, packed, gradient, products);
            BOOST_TEST(bit_equal(before.output, after.output));
            BOOST_TEST(bit_equal(before.log_sums, after.log_sums));
            BOOST_TEST(bit_equal(before.gradient, after.gradient));
        }
}

// 0 times NaN is NaN: what is not seen is no factor.
BOOST_AUTO_TEST_CASE(a_causal_position_that_is_no_number_reaches_none_that_does_not_see_it) {
    constexpr std::size_t bad = 70, count = 100;
    for (const std::size_t width : {24, 72}) {
        tensor packed = random_tensor(pool, {1, count, 3 * width}, 1);
        tensor gradient = random_tensor(pool, {1, count, width}, 2);
        const auto before = attend(*given, packed, gradient, precision::float32);
        // Of the queries, or of the keys and values.
        const auto of_gradient = [&](const results& r, std::size_t position, bool of_query) {
            const auto row = r.gradient.values<float>().subspan(position * 3 * width, 3 * width);
            const auto part = of_query ? row.first(width) : row.subspan(width);
            return std::vector(part.begin(), part.end());
        };
        std::ranges::fill(gradient.mutable_values<float>().subspan(bad * width, width), no_number);
        const auto behind = attend(*given, packed, gradient, precision::float32);
        for (std::size_t i = 0; i < count; ++i) {
            BOOST_TEST((of_gradient(before, i, true) == of_gradient(behind, i, true)) ==
                       (i != bad));
            BOOST_TEST((of_gradient(before, i, false) == of_gradient(behind, i, false)) ==
                       (i > bad));
        }
        std::ranges::fill(packed.mutable_values<float>().subspan(bad * 3 * width, 3 * width),
                          no_number);
        const auto after = attend(*given, packed, gradient, precision::float32);
        BOOST_TEST(bit_equal(positions(before.output, 0, bad), positions(after.output, 0, bad)));
        for (std::size_t i = bad; i < count; ++i)
            BOOST_TEST(std::isnan(positions(after.output, i, 1).values<float>()[0]));
        for (std::size_t i = 0; i < bad; ++i)
            BOOST_TEST((of_gradient(before, i, true) == of_gradient(after, i, true)));
    }
}

BOOST_AUTO_TEST_SUITE_END()

// What the operations of codecs do at their edges; tests/conformance compares them over all back ends.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels_codec/all_codecs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

tensor floats_of(memory_pool& pool, std::initializer_list<float> values) {
    tensor t = tensor::allocate(pool, data_type::float32, {values.size()}).value();
    std::ranges::copy(values, t.mutable_values<float>().begin());
    return t;
}

std::vector<std::uint32_t> sent_indices(const tensor& payload) {
    std::vector<std::uint32_t> indices(payload.bytes() / sparse_element_bytes);
    if (!indices.empty()) // memcpy wants no null pointer
        std::memcpy(indices.data(), payload.data(), 4 * indices.size());
    return indices;
}

tensor bytes(memory_pool& pool, std::size_t count) {
    return tensor::allocate(pool, data_type::uint8, {count}).value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(codec_operations)

BOOST_AUTO_TEST_CASE(halves_are_rounded_to_the_nearest_even_one) {
    operand_pool pool{1 << 20};
    const float tiny = 0x1p-24f;
    const tensor x =
        floats_of(pool, {0.f, -0.f, 1.f, 65504.f, 65519.f, 65520.f, -1e30f, tiny, tiny / 2,
                         tiny * 1.5f, 0x1.ff8p-15f, 0x1p-14f, 1 + 0x1p-11f, 1 + 0x3p-11f, NAN,
                         -INFINITY, 1 + 0x1p-8f, 1 + 0x3p-8f, 3.4e38f});
    const std::vector<std::uint16_t> f16{0,      0x8000, 0x3c00, 0x7bff, 0x7bff, 0x7c00, 0xfc00,
                                         1,      0,      2,      0x03ff, 0x0400, 0x3c00, 0x3c02,
                                         0x7e00, 0xfc00, 0x3c04, 0x3c0c, 0x7c00};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        tensor payload = bytes(pool, 2 * x.elements()), back = random_tensor(pool, x.shape(), 1);
        const auto half = [&](std::size_t i) {
            std::uint16_t bits;
            std::memcpy(&bits, payload.data() + 2 * i, 2);
            return bits;
        };
        BOOST_REQUIRE(ops->run(encode_half{half_format::f16, x, payload}).ok());
        for (std::size_t i = 0; i < f16.size(); ++i)
            BOOST_TEST(half(i) == f16[i], backend.name << " " << x.values<float>()[i] << " is "
                                                       << half(i) << ", not " << f16[i]);
        BOOST_REQUIRE(ops->run(decode_half{half_format::f16, {payload, 1, nullptr, back}}).ok());
        BOOST_TEST(back.values<float>()[7] == tiny);
        BOOST_TEST(back.values<float>()[3] == 65504.f);
        BOOST_TEST(std::isnan(back.values<float>()[14]));
        BOOST_TEST(back.values<float>()[15] == -INFINITY);
        BOOST_REQUIRE(ops->run(encode_half{half_format::bf16, x, payload}).ok());
        BOOST_TEST(half(2) == 0x3f80);
        BOOST_TEST(half(16) == 0x3f80);
        BOOST_TEST(half(17) == 0x3f82);
        BOOST_TEST(half(18) == 0x7f80);
        BOOST_TEST((half(14) & 0x7fff) > 0x7f80);
    }
    // All of f16 and back.
    const auto ops = shipped_operations(pool);
    tensor all = bytes(pool, 2 << 16), again = bytes(pool, 2 << 16);
    for (std::uint32_t i = 0; i < 1 << 16; ++i)
        std::memcpy(all.mutable_data() + 2 * i, &i, 2);
    tensor values = tensor::allocate(pool, data_type::float32, {1 << 16}).value();
    BOOST_REQUIRE(ops->run(decode_half{half_format::f16, {all, 1, nullptr, values}}).ok());
    BOOST_REQUIRE(ops->run(encode_half{half_format::f16, values, again}).ok());
    for (std::uint32_t i = 0; i < 1 << 16; ++i)
        if (!std::isnan(values.values<float>()[i]))
            BOOST_REQUIRE(std::memcmp(all.data() + 2 * i, again.data() + 2 * i, 2) == 0);
}

BOOST_AUTO_TEST_CASE(of_equal_magnitudes_the_first_are_sent) {
    operand_pool pool{1 << 20};
    const tensor x = floats_of(pool, {1, -2, 2, 0, -1, 2, 1, -2, 0, 3});
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        const auto top = [&](std::size_t count) {
            tensor payload = bytes(pool, sparse_element_bytes * count);
            BOOST_REQUIRE(ops->run(encode_top{x, payload}).ok());
            return sent_indices(payload);
        };
        using indices = std::vector<std::uint32_t>;
        BOOST_TEST((top(0) == indices{}));
        BOOST_TEST((top(1) == indices{9}));
        BOOST_TEST((top(3) == indices{1, 2, 9}));
        BOOST_TEST((top(6) == indices{0, 1, 2, 5, 7, 9}));
        BOOST_TEST((top(9) == indices{0, 1, 2, 3, 4, 5, 6, 7, 9}));
        BOOST_TEST(top(10).size() == 10u);
    }
}

// Where most are equal, what the sample says is far off.
BOOST_AUTO_TEST_CASE(the_largest_are_found_whatever_their_distribution) {
    operand_pool pool{1ull << 28};
    const auto reference = make_reference_operations();
    const auto ops = shipped_operations(pool);
    for (int kind = 0; kind < 4; ++kind) {
        tensor x = random_tensor(pool, {100, 1000}, 1);
        auto values = x.mutable_values<float>();
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = kind == 0   ? 0
                        : kind == 1 ? (i % 1000 == 999 ? values[i] : 0)
                        : kind == 2 ? std::round(values[i] * 4)
                                    : (i < 500 ? values[i] : values[i] * 1e-6f);
        for (const std::size_t count : {1u, 50u, 1000u, 50000u, 99999u}) {
            tensor expected = bytes(pool, sparse_element_bytes * count);
            tensor given = bytes(pool, sparse_element_bytes * count);
            BOOST_REQUIRE(reference->run(encode_top{x, expected}).ok());
            BOOST_REQUIRE(ops->run(encode_top{x, given}).ok());
            BOOST_TEST(bit_equal(expected, given), "kind " << kind << ", " << count);
        }
    }
}

BOOST_AUTO_TEST_CASE(levels_stay_in_range_and_norms_of_nothing_give_nothing) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        for (const float size : {0.f, 1e-38f, 1e-30f, 1.f, 1e30f})
            for (const std::uint32_t levels : {1u, 7u, 127u})
                for (const bucket_norm norm : {bucket_norm::largest, bucket_norm::euclidean}) {
                    if (size > 1 && norm == bucket_norm::euclidean)
                        continue; // of 300 such there is no norm
                    const quantizer q{.levels = levels, .bucket = 100, .norm = norm};
                    tensor x = random_tensor(pool, {300}, 1);
                    for (float& v : x.mutable_values<float>())
                        v = v < 0 ? -size : size;
                    tensor payload = bytes(pool, q.payload_bytes(300));
                    tensor back = random_tensor(pool, {300}, 2);
                    BOOST_REQUIRE(ops->run(quantize{q, {1, 2}, x, payload}).ok());
                    BOOST_REQUIRE(ops->run(dequantize{q, {payload, 1, nullptr, back}}).ok());
                    for (std::size_t i = 0; i < 300; ++i) {
                        const float given = back.values<float>()[i], was = x.values<float>()[i];
                        if (norm == bucket_norm::largest && (size == 0 || size >= 1e-30f))
                            BOOST_REQUIRE(std::abs(given - was) <= 1e-6f * std::abs(was));
                        BOOST_REQUIRE(std::isfinite(given));
                    }
                }
    }
}

BOOST_AUTO_TEST_CASE(magnitudes_of_nan_are_above_all_others) {
    operand_pool pool{1 << 20};
    const tensor x = floats_of(pool, {1, -INFINITY, 0, NAN, 3, -NAN});
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        tensor payload = bytes(pool, sparse_element_bytes * 3);
        BOOST_REQUIRE(ops->run(encode_top{x, payload}).ok());
        BOOST_TEST((sent_indices(payload) == std::vector<std::uint32_t>{1, 3, 5}), backend.name);
        float first = 0, third = 0;
        BOOST_REQUIRE(ops->run(nth_magnitude{x, 0, 1, 1, first}).ok());
        BOOST_REQUIRE(ops->run(nth_magnitude{x, 0, 1, 3, third}).ok());
        BOOST_TEST(std::isnan(first));
        BOOST_TEST(third == INFINITY);
        std::size_t count = 0;
        BOOST_REQUIRE(ops->run(count_at_least{x, 3, count}).ok());
        BOOST_TEST(count == 4u);
    }
}

BOOST_AUTO_TEST_CASE(rows_that_have_no_direction_of_their_own_become_0) {
    operand_pool pool{1 << 20};
    // The fourth is the sum of the first and the third, the last a multiple of the first.
    const tensor x = floats_of(pool, {1, 2, 2, 0, 0, 0, 0, 0, 2, 1, -2, 3, //
                                      3, 3, 0, 3, 1, 0, 0, 0, 4, 8, 8,  0})
                         .reshaped({6, 4});
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        tensor rows = random_tensor(pool, x.shape(), 1);
        BOOST_REQUIRE(ops->run(orthonormalize_rows{x, rows}).ok());
        const auto values = rows.values<float>();
        for (std::size_t a = 0; a < 6; ++a)
            for (std::size_t b = 0; b < 6; ++b) {
                double product = 0;
                for (std::size_t c = 0; c < 4; ++c)
                    product += double{values[4 * a + c]} * double{values[4 * b + c]};
                const double expected = a == b && a != 1 && a != 3 && a != 5 ? 1 : 0;
                BOOST_TEST(std::abs(product - expected) < 1e-6,
                           backend.name << ": rows " << a << ", " << b << " give " << product);
            }
    }
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_fit_are_refused) {
    operand_pool pool{1 << 26};
    const auto ops = shipped_operations(pool);
    const tensor x = random_tensor(pool, {10}, 1);
    tensor y = random_tensor(pool, {10}, 2), eleven = bytes(pool, 11), large = bytes(pool, 88);
    BOOST_TEST(ops->run(encode_half{half_format::f16, x, eleven}).failure().message() ==
               "encode_half: payload is uint8 [11], expected uint8 [20]");
    BOOST_TEST(ops->run(encode_top{x, eleven}).failure().message() ==
               "encode_top: the payload has no whole elements");
    BOOST_TEST(ops->run(decode_sparse{{large, 1, nullptr, y}}).failure().message() ==
               "decode_sparse: the payload has more elements than the tensor");
    BOOST_TEST(!ops->run(quantize{{.levels = 128}, {}, x, eleven}).ok());
    BOOST_TEST(!ops->run(quantize{{.levels = 0}, {}, x, eleven}).ok());
    float magnitude = 0;
    BOOST_TEST(!ops->run(nth_magnitude{x, 0, 0, 1, magnitude}).ok());
    BOOST_TEST(!ops->run(nth_magnitude{x, 0, 1, 11, magnitude}).ok());
    BOOST_TEST(!ops->run(nth_magnitude{x, 10, 1, 1, magnitude}).ok());
    tensor few = bytes(pool, 8 * 10);
    BOOST_TEST(!ops->run(encode_at_least{x, 2, few}).ok());
    BOOST_TEST(!ops->run(encode_threshold{2, x, few}).ok());
    tensor out = random_tensor(pool, {2, 2}, 1);
    const tensor a = random_tensor(pool, {2, 3}, 1);
    BOOST_TEST(!ops->run(matrix_multiply{{a}, {a}, 1, nullptr, out}).ok());
    BOOST_TEST(ops->run(matrix_multiply{{a}, {a, true}, 1, nullptr, out}).ok());
}

BOOST_AUTO_TEST_SUITE_END()

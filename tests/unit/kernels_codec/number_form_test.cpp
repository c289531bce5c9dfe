// Numbers that are no gradients, rounded to the nearest on their way.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/codec/number_form.hpp"
#include "schemas/base/random.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

number_form_ptr form_of(proto::NumberForm form) {
    return make_number_form(form).value();
}

struct fixture {
    operand_pool pool{1ull << 28};
    std::unique_ptr<operations> ops = shipped_operations(pool);
    compute_context context{*ops, pool};
    const number_form_ptr bf16 = form_of(proto::NumberForm::BF16),
                          int8 = form_of(proto::NumberForm::INT8);

    tensor decoded_of(const number_form& form, const tensor& x) {
        return decoded(context, form, x.shape(), form.encode(context, x).value()).value();
    }
    tensor payload_of_scale(float scale) {
        tensor t = tensor::allocate(pool, data_type::uint8, {4 + 10}).value();
        std::memset(t.mutable_data(), 127, t.bytes());
        std::memcpy(t.mutable_data(), &scale, sizeof scale);
        return t;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(number_forms, fixture)

BOOST_AUTO_TEST_CASE(a_form_of_int8_is_the_nearest_of_255_steps_up_to_the_largest_of_512) {
    const tensor x = random_tensor(pool, {3, 500}, 1); // three buckets
    BOOST_TEST(int8->payload_bytes(x.shape()) == 3u * 4 + 1500);
    const tensor back = decoded_of(*int8, x);
    const auto was = x.values<float>(), is = back.values<float>();
    for (std::size_t first = 0; first < 1500; first += 512) {
        const std::size_t end = std::min<std::size_t>(first + 512, 1500);
        float most = 0;
        for (std::size_t i = first; i < end; ++i)
            most = std::max(most, std::abs(was[i]));
        const float step = most / 127;
        for (std::size_t i = first; i < end; ++i) {
            BOOST_REQUIRE(std::abs(is[i] - was[i]) <= step * 0.50001f);
            const float steps = is[i] / step;
            BOOST_REQUIRE(std::abs(steps - std::round(steps)) < 1e-4f);
        }
    }
}

// Whatever the largest is: it is decoded to itself, or to a neighbour that is.
BOOST_AUTO_TEST_CASE(of_what_is_decoded_the_payload_is_the_same_again) {
    random_stream random{3};
    for (int round = 0; round < 300; ++round) {
        tensor x = random_tensor(pool, {2, 300}, static_cast<std::uint64_t>(round));
        const float scale = std::ldexp(1 + static_cast<float>(random.uniform()), round - 150);
        for (float& v : x.mutable_values<float>())
            v *= std::clamp(scale, 0x1p-90f, 0x1p90f);
        for (const number_form_ptr& form : {bf16, int8}) {
            const tensor first = form->encode(context, x).value();
            const tensor again = form->encode(context, decoded_of(*form, x)).value();
            BOOST_REQUIRE(bit_equal(first, again));
        }
    }
}

BOOST_AUTO_TEST_CASE(sizes_of_no_sender_and_scales_that_are_no_number_are_refused) {
    const tensor_shape shape{2, 5};
    for (const number_form_ptr& form : {bf16, int8}) {
        const std::uint64_t right = form->payload_bytes(shape);
        for (const std::uint64_t bytes : {right - 1, right + 1, std::uint64_t{0}}) {
            const tensor wrong = tensor::allocate(pool, data_type::uint8, {bytes}).value();
            const auto given = form->check(shape, wrong);
            BOOST_REQUIRE(!given.ok());
            BOOST_TEST((given.failure().code() == errc::protocol));
            BOOST_TEST(given.failure().message() == "a payload of uint8 [" + std::to_string(bytes) +
                                                        "] is none of a tensor of [2, 5]");
        }
        BOOST_TEST(!form->check(shape, random_tensor(pool, shape, 1)).ok());
        BOOST_TEST(!form->check(shape, {}).ok());
    }
    for (const float scale : {0.f, 1e-20f, 1.f, 0x1p100f})
        BOOST_TEST(int8->check(shape, payload_of_scale(scale)).ok());
    for (const float scale : {no_number, infinite, -1.f, 0x1p101f}) {
        const auto given = int8->check(shape, payload_of_scale(scale));
        BOOST_REQUIRE(!given.ok());
        BOOST_TEST((given.failure().code() == errc::numeric));
        BOOST_TEST(given.failure().message() ==
                   "numbers of a tensor of [2, 5] are not finite, or too large for int8");
        BOOST_TEST(!decoded(context, *int8, shape, payload_of_scale(scale)).ok());
    }
}

// As a sender comes to them: by numbers that went beyond all bounds.
BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_told_as_none) {
    for (const float bad : {no_number, infinite, -infinite, 1e38f}) {
        tensor x = random_tensor(pool, {700}, 1);
        x.mutable_values<float>()[600] = bad;
        BOOST_TEST(!int8->check(x.shape(), int8->encode(context, x).value()).ok());
        if (bad == 1e38f)
            continue;
        const tensor back = decoded_of(*bf16, x);
        BOOST_TEST(!std::isfinite(back.values<float>()[600]));
    }
}

BOOST_AUTO_TEST_CASE(tokens_stay_as_they_are_and_so_does_all_without_a_form) {
    const tensor x = random_tensor(pool, {4}, 1);
    const tensor tokens = tensor::allocate(pool, data_type::int32, {4}).value();
    std::vector<tensor> all{x, tokens};
    BOOST_TEST(encode_numbers(context, bf16.get(), all).ok());
    BOOST_TEST(all[0].bytes() == 8u);
    BOOST_TEST(all[1].data() == tokens.data());
    all[0] = x;
    BOOST_TEST(encode_numbers(context, nullptr, all).ok());
    BOOST_TEST(all[0].data() == x.data());
    BOOST_TEST(form_of(proto::NumberForm::F32) == nullptr);
    BOOST_TEST(!make_number_form(static_cast<proto::NumberForm>(9)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

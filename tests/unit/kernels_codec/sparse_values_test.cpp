// How the numbers of sparse payloads are written, and what keeps what rounding loses of them.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

#include <capnp/message.h>

#include "tests/unit/kernels_codec/all_codecs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using proto::SparseValues;

constexpr SparseValues rounded_forms[] = {SparseValues::F16, SparseValues::INT8,
                                          SparseValues::INT4};

struct fixture {
    operand_pool pool{1ull << 30};
    std::unique_ptr<operations> ops = shipped_operations(pool);
    compute_context context{*ops, pool};

    tensor floats(const std::vector<float>& values) {
        tensor t = tensor::allocate(pool, data_type::float32, {values.size()}).value();
        std::ranges::copy(values, t.mutable_values<float>().begin());
        return t;
    }
    tensor bytes(const std::vector<std::uint8_t>& values) {
        tensor t = tensor::allocate(pool, data_type::uint8, {values.size()}).value();
        std::ranges::copy(values, t.mutable_values<std::uint8_t>().begin());
        return t;
    }
    std::vector<std::uint8_t> bytes_of(const tensor& t) {
        return {t.values<std::uint8_t>().begin(), t.values<std::uint8_t>().end()};
    }
    // All of a vector's numbers as top_k sends them.
    tensor sent(SparseValues form, const std::vector<float>& values) {
        return make_top_codec(1, form)->encode(context, floats(values), {}, {}).value();
    }
    std::vector<float> received(SparseValues form, const tensor& payload, std::size_t elements) {
        const codec_ptr how = make_top_codec(1, form);
        const tensor d = decoded(context, *how, {elements}, payload).value();
        return {d.values<float>().begin(), d.values<float>().end()};
    }
};

// The nearest of so many steps up to the largest, in double.
double nearest_step(double x, double largest, int levels) {
    const double level = std::floor(std::abs(x) / largest * levels + 0.5);
    return std::copysign(level * largest / levels, x);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(values_of_sparse_payloads, fixture)

BOOST_AUTO_TEST_CASE(places_come_first_and_then_numbers_of_each_form) {
    // 7 sevenths, -1 seventh, 3.4 sevenths: 3, nothing, -7 sevenths.
    const std::vector<float> x{7, -1, 3.4f, 0.3f, -7};
    const std::vector<std::uint8_t> places{0, 0, 0, 0, 1, 0, 0, 0, 2, 0,
                                           0, 0, 3, 0, 0, 0, 4, 0, 0, 0};
    const auto with = [&](std::vector<std::uint8_t> numbers) {
        numbers.insert(numbers.begin(), places.begin(), places.end());
        return numbers;
    };
    BOOST_TEST(bytes_of(sent(SparseValues::F32, x)) ==
                   with({0,    0,    0xe0, 0x40, 0,    0,    0x80, 0xbf, 0x9a, 0x99,
                         0x59, 0x40, 0x9a, 0x99, 0x99, 0x3e, 0,    0,    0xe0, 0xc0}),
               boost::test_tools::per_element());
    BOOST_TEST(bytes_of(sent(SparseValues::F16, x)) ==
                   with({0, 0x47, 0, 0xbc, 0xcd, 0x42, 0xcd, 0x34, 0, 0xc7}),
               boost::test_tools::per_element());
    // The norm, 7, and 127 plus the level: 127, 18.14, 61.69, 5.44, 127 of 127.
    BOOST_TEST(bytes_of(sent(SparseValues::INT8, x)) ==
                   with({0, 0, 0xe0, 0x40, 254, 127 - 18, 127 + 62, 127 + 5, 0}),
               boost::test_tools::per_element());
    // 7 plus the level, two in a byte, the first in its lower half.
    BOOST_TEST(bytes_of(sent(SparseValues::INT4, x)) ==
                   with({0, 0, 0xe0, 0x40, 14 | 6 << 4, 10 | 7 << 4, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(received(SparseValues::INT4, sent(SparseValues::INT4, x), 5) ==
                   (std::vector<float>{7, -1, 3, 0, -7}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(payloads_have_as_many_bytes_as_the_formulas_say_and_tell_how_many_there_are) {
    const auto formula = [](SparseValues form, std::size_t n) -> std::size_t {
        const std::size_t norms = 4 * ((n + 511) / 512);
        switch (form) {
        case SparseValues::F32:
            return 4 * n + 4 * n;
        case SparseValues::F16:
            return 4 * n + 2 * n;
        case SparseValues::INT8:
            return 4 * n + norms + n;
        case SparseValues::INT4:
            return 4 * n + norms + n / 512 * 256 + (n % 512 + 1) / 2;
        }
        return 0;
    };
    for (const auto form :
         {SparseValues::F32, SparseValues::F16, SparseValues::INT8, SparseValues::INT4}) {
        const sparse_values values{form};
        std::size_t last = 0;
        for (const std::size_t n : {0, 1, 2, 3, 511, 512, 513, 1023, 1024, 1025, 12800}) {
            const std::size_t bytes = formula(form, n);
            BOOST_TEST(values.payload_bytes(n) == bytes);
            BOOST_TEST(values.count_in(bytes).value() == n);
            if (n > 0)
                BOOST_TEST(!values.count_in(bytes - 1).has_value());
            last = bytes;
        }
        BOOST_TEST(values.bytes_each() * 12800 == static_cast<double>(last - 4 * 12800));
        const tensor gradient = random_tensor(pool, {64, 200}, 1);
        for (const float ratio : {0.0001f, 0.01f, 0.1f, 1.f}) {
            const codec_ptr how = make_top_codec(ratio, form);
            const std::size_t bytes = formula(form, elements_of_share(64 * 200, ratio));
            BOOST_TEST(how->payload_bytes(gradient.shape()) == bytes);
            BOOST_TEST(how->encode(context, gradient, {}, {}).value().bytes() == bytes);
            const codec_ptr deep = make_deep_gradient_codec({.ratio = ratio, .values = form});
            BOOST_TEST(deep->payload_bytes(gradient.shape()) == bytes);
            auto state = deep->first_state(pool, gradient.shape(), {}).value();
            const tensor payload = deep->encode(context, gradient, state, {}).value();
            BOOST_TEST(payload.bytes() <= bytes);
            BOOST_TEST(deep->check(gradient.shape(), payload).ok());
        }
    }
}

BOOST_AUTO_TEST_CASE(each_number_becomes_the_nearest_step_up_to_the_largest_of_512) {
    constexpr std::size_t n = 1300;
    const tensor x = random_tensor(pool, {n}, 3);
    const auto given = values_of(x);
    for (const auto& [form, levels] :
         {std::pair{SparseValues::INT8, 127}, {SparseValues::INT4, 7}}) {
        const std::vector<float> all{x.values<float>().begin(), x.values<float>().end()};
        const auto d = received(form, sent(form, all), n);
        for (std::size_t first = 0; first < n; first += 512) {
            const std::size_t end = std::min(n, first + 512);
            double largest = 0;
            for (std::size_t i = first; i < end; ++i)
                largest = std::max(largest, std::abs(given[i]));
            for (std::size_t i = first; i < end; ++i) {
                BOOST_REQUIRE(std::abs(double{d[i]} - given[i]) <= largest / levels * 0.50001);
                const double exact = std::abs(given[i]) / largest * levels + 0.5;
                if (std::abs(exact - std::round(exact)) > 1e-4) // else the roundings of both decide
                    BOOST_REQUIRE(std::abs(double{d[i]} - nearest_step(given[i], largest,
                                                                       levels)) <= 1e-6 * largest);
            }
        }
    }
}

// Ranks that pass on what they have got encode it again.
BOOST_AUTO_TEST_CASE(of_what_is_decoded_the_payload_is_the_same_bit_for_bit) {
    for (const SparseValues form : rounded_forms)
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            tensor x = random_tensor(pool, {520}, seed);
            for (float& v : x.mutable_values<float>()) // norms with all kinds of last bits
                v *= std::exp(static_cast<float>(seed % 40) - 20);
            const tensor once = make_top_codec(1, form)->encode(context, x, {}, {}).value();
            const sparse_values values{form};
            const tensor again =
                values.rounded(context, values.widened(context, once).value()).value();
            BOOST_TEST(bytes_of(again) == bytes_of(once), boost::test_tools::per_element());
        }
}

// e' = a - D(q), of deep gradients v' = v - D(q), at what is sent and at what is not.
BOOST_AUTO_TEST_CASE(what_is_kept_is_what_is_not_sent_and_what_rounding_loses) {
    const tensor_shape shape{64, 200};
    const tensor gradient = random_tensor(pool, shape, 1);
    for (const SparseValues form : rounded_forms)
        for (const codec_ptr& how :
             {with_error_feedback(make_top_codec(0.1f, form)),
              make_deep_gradient_codec(
                  {.ratio = 0.1f, .momentum = 0, .masking = false, .values = form})}) {
            auto state = how->first_state(pool, shape, {}).value();
            const tensor payload = how->encode(context, gradient, state, {}).value();
            const tensor d = decoded(context, *how, shape, payload).value();
            std::size_t lost = 0;
            for (std::size_t i = 0; i < d.elements(); ++i) {
                const float a = gradient.values<float>()[i], q = d.values<float>()[i];
                BOOST_REQUIRE(state.back().values<float>()[i] == a - q);
                lost += q != 0 && q != a;
            }
            BOOST_TEST(lost > 900u, how->name());
        }
}

BOOST_AUTO_TEST_CASE(masking_stops_the_momentum_of_what_is_sent_however_it_is_written) {
    const tensor_shape shape{64, 200};
    for (const SparseValues form : rounded_forms) {
        const codec_ptr how = make_deep_gradient_codec({.ratio = 0.1f, .values = form});
        auto state = how->first_state(pool, shape, {}).value();
        const tensor payload =
            how->encode(context, random_tensor(pool, shape, 2), state, {}).value();
        const std::size_t count = *sparse_values{form}.count_in(payload.bytes());
        std::vector<std::uint32_t> places(count);
        std::memcpy(places.data(), payload.data(), 4 * count);
        std::size_t stopped = 0;
        for (const float u : state[0].values<float>())
            stopped += u == 0;
        for (const std::uint32_t place : places)
            BOOST_REQUIRE(state[0].values<float>()[place] == 0);
        BOOST_TEST(stopped == count);
    }
}

BOOST_AUTO_TEST_CASE(no_codec_is_made_of_a_form_that_is_not_known) {
    capnp::MallocMessageBuilder message;
    auto asked = message.initRoot<proto::GradientCodec>();
    asked.initTopK().setValues(proto::SparseValues::INT4);
    BOOST_TEST(make_codec(asked) != nullptr);
    asked.getTopK().setValues(static_cast<proto::SparseValues>(4));
    BOOST_TEST(make_codec(asked) == nullptr);
    asked.initDeepGradient().setValues(static_cast<proto::SparseValues>(65535));
    BOOST_TEST(make_codec(asked) == nullptr);
}

BOOST_AUTO_TEST_CASE(payloads_that_no_encoder_makes_are_refused) {
    const tensor_shape shape{2, 5};
    const auto refuses = [&](const codec_ptr& how, const std::vector<std::uint8_t>& payload) {
        const auto given = decoded(context, *how, shape, bytes(payload));
        BOOST_TEST((given.ok() || given.failure().code() == errc::protocol));
        return !given.ok();
    };
    for (const SparseValues form : rounded_forms)
        for (const codec_ptr& how : {make_top_codec(0.3f, form),
                                     make_deep_gradient_codec({.ratio = 0.3f, .values = form})}) {
            std::vector<std::uint8_t> sound(how->payload_bytes(shape));
            for (const std::uint8_t place : {1, 4, 9})
                sound[4u * (place == 1 ? 0 : place == 4 ? 1 : 2)] = place;
            BOOST_TEST(!refuses(how, sound), how->name());
            for (const auto& [at, place] : {std::pair{8, 10}, {8, 4}, {0, 4}, {4, 0}, {11, 1}}) {
                auto damaged = sound;
                damaged[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(place);
                BOOST_TEST(refuses(how, damaged), how->name() << " " << at << " " << place);
            }
            auto longer = sound;
            longer.push_back(0);
            BOOST_TEST(refuses(how, longer));
            longer.pop_back();
            longer.pop_back();
            BOOST_TEST(refuses(how, longer));
        }
    // Codes above 2 levels: 255 of 0 .. 254, 15 of 0 .. 14.
    std::vector<std::uint8_t> payload(12 + 4 + 3);
    payload[4] = 1, payload[8] = 2, payload[18] = 255;
    BOOST_TEST(refuses(make_top_codec(0.3f, SparseValues::INT8), payload));
    payload.resize(12 + 4 + 2);
    payload[17] = 15;
    BOOST_TEST(refuses(make_top_codec(0.3f, SparseValues::INT4), payload));
    payload[17] = 14 | 15 << 4; // behind the end
    BOOST_TEST(!refuses(make_top_codec(0.3f, SparseValues::INT4), payload));
}

BOOST_AUTO_TEST_SUITE_END()

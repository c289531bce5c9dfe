// Payloads from fixed seeds, sound, damaged and made up: decoders take the sound ones, never leave their operands, and
// refuse what no encoder makes.
#include <boost/test/unit_test.hpp>

#include <cstring>

#include "schemas/base/random.hpp"
#include "tests/unit/kernels_codec/all_codecs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct fixture {
    operand_pool pool{1ull << 30};
    std::unique_ptr<operations> ops = shipped_operations(pool);
    compute_context context{*ops, pool};

    tensor bytes(std::span<const std::uint8_t> values) {
        tensor t = tensor::allocate(pool, data_type::uint8, {values.size()}).value();
        if (!values.empty()) // memcpy wants no null pointer
            std::memcpy(t.mutable_data(), values.data(), values.size());
        return t;
    }
    tensor sparse(const std::vector<std::uint32_t>& words) {
        tensor t = tensor::allocate(pool, data_type::uint8, {4 * words.size()}).value();
        if (!words.empty())
            std::memcpy(t.mutable_data(), words.data(), t.bytes());
        return t;
    }
    bool refuses(const codec_ptr& how, const tensor_shape& shape, const tensor& payload) {
        const auto given = decoded(context, *how, shape, payload);
        BOOST_TEST((given.ok() || given.failure().code() == errc::protocol));
        return !given.ok();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(hostile_payloads, fixture)

BOOST_AUTO_TEST_CASE(sizes_and_types_of_no_encoder_are_refused) {
    random_stream random{1};
    for (const codec_ptr& how : all_codecs())
        for (const tensor_shape& shape : gradient_shapes()) {
            BOOST_TEST(refuses(how, shape, {}));
            const std::uint64_t most = how->payload_bytes(shape);
            std::vector<std::uint8_t> longer(most + 8, 0);
            BOOST_TEST(refuses(how, shape, bytes(longer)), how->name());
            const bool varies = how->check(shape, bytes({})).ok();
            if (!varies && most > 0)
                BOOST_TEST(refuses(how, shape, bytes(std::span{longer}.first(most - 1))));
            BOOST_TEST(refuses(how, shape, random_tensor(pool, {most / 4 + 1}, 1)));
            BOOST_TEST(refuses(how, shape,
                               tensor::allocate(pool, data_type::int32, {most / 4 + 1}).value()));
        }
}

BOOST_AUTO_TEST_CASE(indices_that_are_too_large_twice_or_not_in_order_are_refused) {
    const codec_ptr top = make_top_codec(0.2f), strom = make_threshold_codec(1);
    const tensor_shape shape{2, 5};
    BOOST_TEST(!refuses(top, shape, sparse({3, 9, 0, 0})));
    for (const auto& [a, b] : {std::pair{3u, 10u}, {3u, 3u}, {9u, 3u}, {3u, ~0u}, {~0u, 3u}})
        BOOST_TEST(refuses(top, shape, sparse({a, b, 0, 0})), a << " " << b);
    BOOST_TEST(!refuses(strom, shape, sparse({3, 9})));
    BOOST_TEST(!refuses(strom, shape, sparse({0x80000003, 9})));
    for (const auto& [a, b] : {std::pair{3u, 10u}, {3u, 0x80000003u}, {9u, 3u}, {3u, ~0u}})
        BOOST_TEST(refuses(strom, shape, sparse({a, b})), a << " " << b);
}

BOOST_AUTO_TEST_CASE(levels_and_bits_that_are_none_are_refused) {
    const codec_ptr ternary = make_quantized_codec("", {.levels = 1});
    const std::uint8_t sound[] = {0, 0, 0x80, 0x3f, 0b00100100},
                       fourth[] = {0, 0, 0x80, 0x3f, 0b11100100};
    BOOST_TEST(!refuses(ternary, {3}, bytes(sound)));
    BOOST_TEST(!refuses(ternary, {3}, bytes(fourth))); // behind the end
    BOOST_TEST(refuses(ternary, {4}, bytes(fourth)));
    const codec_ptr signs = make_sign_codec();
    std::uint8_t row[9] = {};
    row[8] = 0b111;
    BOOST_TEST(!refuses(signs, {3}, bytes(row)));
    row[8] = 0b1111;
    BOOST_TEST(refuses(signs, {3}, bytes(row)));
}

// Whatever is in them: no crash, no access beyond the operands (with the sanitizers), errc::protocol at worst.
BOOST_AUTO_TEST_CASE(damaged_and_made_up_payloads_are_taken_or_refused) {
    random_stream random{7};
    for (const codec_ptr& how : all_codecs())
        for (const tensor_shape& shape : gradient_shapes()) {
            auto state = how->first_state(pool, shape, {}).value();
            const tensor gradient = random_tensor(pool, shape, 3);
            const tensor sound = how->encode(context, gradient, state, {}).value();
            BOOST_TEST(!refuses(how, shape, sound), how->name());
            for (int round = 0; round < 50; ++round) {
                tensor damaged = tensor::allocate(pool, sound.type(), sound.shape()).value();
                if (sound.bytes() > 0)
                    std::memcpy(damaged.mutable_data(), sound.data(), sound.bytes());
                for (std::uint64_t hits = 1 + random.below(4); hits > 0 && sound.bytes() > 0;
                     --hits)
                    damaged.mutable_data()[random.below(sound.bytes())] =
                        static_cast<std::byte>(random.below(256));
                refuses(how, shape, damaged);
                std::vector<std::uint8_t> made_up(random.below(how->payload_bytes(shape) + 9));
                for (auto& byte : made_up)
                    byte = static_cast<std::uint8_t>(random.below(256));
                refuses(how, shape, bytes(made_up));
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()

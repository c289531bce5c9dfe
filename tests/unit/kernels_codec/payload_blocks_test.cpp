// Payloads that are cut into blocks: what is told of a block is what the whole tells of these elements.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

#include "tests/unit/kernels_codec/all_codecs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct fixture {
    operand_pool pool{1ull << 30};
    std::unique_ptr<operations> ops = shipped_operations(pool);
    compute_context context{*ops, pool};
};

// Buckets that are many, one, and of sizes that are no whole bytes.
std::vector<codec_ptr> codecs_with_blocks() {
    std::vector<codec_ptr> all = unbiased_codecs();
    all.push_back(make_quantized_codec("int8", {.levels = 127, .bucket = 16}));
    all.push_back(make_quantized_codec("tern_grad", {.levels = 1, .clip = 2.5f}));
    all.push_back(make_quantized_codec("qsgd", {.levels = 5, .norm = bucket_norm::euclidean}));
    all.push_back(
        make_quantized_codec("qsgd", {.levels = 5, .bucket = 7, .norm = bucket_norm::euclidean}));
    all.push_back(
        make_quantized_codec("qsgd", {.levels = 15, .bucket = 1, .norm = bucket_norm::euclidean}));
    all.push_back(make_sign_codec());
    all.push_back(with_error_feedback(make_sign_codec()));
    all.push_back(with_error_feedback(make_threshold_codec(0.5f)));
    all.push_back(make_threshold_codec(1e20f)); // nothing is sent
    return all;
}

const std::vector<tensor_shape> shapes{{1},    {10},     {511},        {512},    {513},
                                       {3000}, {10, 33}, {8, 3, 3, 3}, {64, 200}};

} // namespace

BOOST_FIXTURE_TEST_SUITE(blocks_of_payloads, fixture)

BOOST_AUTO_TEST_CASE(a_block_is_told_by_its_part_of_the_payload) {
    for (const codec_ptr& how : codecs_with_blocks())
        for (const tensor_shape& shape : shapes) {
            BOOST_REQUIRE(how->blocks() != nullptr);
            const payload_blocks& blocks = *how->blocks();
            const tensor gradient = random_tensor(pool, shape, 3);
            auto state = how->first_state(pool, shape, {}).value();
            const tensor payload = how->encode(context, gradient, state, {.seed = 9}).value();
            const tensor whole = decoded(context, *how, shape, payload).value();
            const std::size_t elements = shape.elements(), unit = blocks.unit(shape);
            const std::size_t units = (elements + unit - 1) / unit;
            for (std::size_t pieces = 1; pieces <= std::min<std::size_t>(units, 5); ++pieces) {
                std::uint64_t bytes = 0;
                for (std::size_t p = 0; p < pieces; ++p) {
                    const std::size_t first = units * p / pieces * unit;
                    const std::size_t end = std::min(elements, units * (p + 1) / pieces * unit);
                    const tensor_shape block = blocks.shape_of(shape, end - first);
                    BOOST_REQUIRE(block.elements() == end - first);
                    const tensor part =
                        blocks.cut(pool, shape, payload, first, end - first).value();
                    BOOST_TEST(
                        (how->name() == "threshold" || part.bytes() == how->payload_bytes(block)));
                    bytes += part.bytes();
                    const tensor d = decoded(context, *how, block, part).value();
                    BOOST_TEST(std::memcmp(d.values<float>().data(),
                                           whole.values<float>().data() + first, d.bytes()) == 0,
                               how->name() << " of " << to_string(shape) << " from " << first);
                }
                // Norms of what is one bucket are told to each.
                BOOST_TEST(bytes <= payload.bytes() + 4 * (pieces - 1));
            }
        }
}

BOOST_AUTO_TEST_CASE(many_elements_can_be_cut_into_as_many_blocks_as_ranks) {
    for (const codec_ptr& how : codecs_with_blocks()) {
        const tensor_shape shape{1000, 1000};
        BOOST_TEST(how->blocks()->unit(shape) <= 1000u, how->name());
    }
    BOOST_TEST(make_top_codec(0.1f)->blocks() == nullptr);
    BOOST_TEST(make_half_codec(half_format::bf16)->blocks() == nullptr);
}

// What senders drew is large in few places: clipped, these would be less each time, and nobody would keep what is lost.
BOOST_AUTO_TEST_CASE(sums_of_ternary_numbers_have_more_levels_and_are_not_clipped) {
    const codec_ptr how = make_quantized_codec("tern_grad", {.levels = 1, .clip = 2.5f});
    const codec_ptr of_sums = how->blocks()->of_sums();
    BOOST_REQUIRE(of_sums);
    BOOST_TEST(of_sums->payload_bytes({1000}) == 4u + 500);
    for (const codec_ptr& other : {unbiased_codecs()[0], unbiased_codecs()[2]})
        BOOST_TEST(other->blocks()->of_sums() == nullptr, other->name());
    tensor sum = random_tensor(pool, {1000}, 1);
    std::ranges::fill(sum.mutable_values<float>(), 0.f);
    sum.mutable_values<float>()[7] = 3.5f;
    sum.mutable_values<float>()[8] = -1.5f;
    const auto told = [&](const codec& c) {
        return values_of(
            decoded(context, c, {1000}, c.encode(context, sum, {}, {}).value()).value());
    };
    BOOST_TEST(told(*how)[7] < 1);
    BOOST_TEST(told(*of_sums)[7] == 3.5);
    BOOST_TEST(told(*of_sums)[8] == -1.5);
}

// 0.5 thrice, minus 0.5 twice, once, and less than half of it.
BOOST_AUTO_TEST_CASE(a_sum_of_thresholds_is_told_by_as_many_words_as_it_counts) {
    const codec_ptr how = make_threshold_sums_codec(0.5f);
    const auto encoded = [&](const std::vector<float>& numbers) {
        tensor sum = random_tensor(pool, {10}, 1);
        std::ranges::fill(sum.mutable_values<float>(), 0.f);
        std::ranges::copy(numbers, sum.mutable_values<float>().begin());
        return how->encode(context, sum, {}, {}).value();
    };
    const tensor few = encoded({0, 1.5f, 0, -1, 0.5f, 0.2f});
    std::vector<std::uint32_t> words(few.bytes() / 4);
    std::memcpy(words.data(), few.data(), few.bytes());
    const std::uint32_t minus = 0x80000000u;
    BOOST_TEST((words == std::vector<std::uint32_t>{1, 3 | minus, 4, 1, 3 | minus, 1}));
    const tensor told = decoded(context, *how, {10}, few).value();
    BOOST_TEST((values_of(told) == std::vector<double>{0, 1.5, 0, -1, 0.5, 0, 0, 0, 0, 0}));
    tensor onto = random_tensor(pool, {10}, 2);
    std::ranges::fill(onto.mutable_values<float>(), 3.f);
    BOOST_REQUIRE(how->decode(context, few, -2, &onto, onto).ok());
    BOOST_TEST((values_of(onto) == std::vector<double>{3, 0, 3, 5, 2, 3, 3, 3, 3, 3}));
    // Ten words would be as long as ten numbers, of which then all is told.
    BOOST_TEST(encoded({1.5f, 1.5f, 1.5f}).bytes() == 4u * 9);
    const tensor many = encoded({1.6f, 1.5f, 1.5f, -0.5f});
    BOOST_TEST(many.bytes() == 4u * 10);
    BOOST_TEST(decoded(context, *how, {10}, many).value().values<float>()[0] == 1.6f);
    onto = random_tensor(pool, {10}, 2);
    std::ranges::fill(onto.mutable_values<float>(), 3.f);
    BOOST_REQUIRE(how->decode(context, many, -1, &onto, onto).ok());
    BOOST_TEST(values_of(onto)[3] == 3.5);
    BOOST_TEST(encoded({0.2f}).bytes() == 0u);
    BOOST_TEST(encoded({NAN}).bytes() == 4u * 10);
}

BOOST_AUTO_TEST_CASE(sums_of_thresholds_with_more_layers_than_senders_can_be_are_refused) {
    const codec_ptr how = make_threshold_sums_codec(0.5f);
    const auto layers = [&](std::size_t count, std::uint32_t index) {
        tensor payload = tensor::allocate(pool, data_type::uint8, {4 * count}).value();
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(payload.mutable_data() + 4 * i, &index, 4);
        return decoded(context, *how, {1000}, payload);
    };
    BOOST_TEST(layers(128, 7).value().values<float>()[7] == 64.f);
    BOOST_TEST((layers(129, 7).failure().code() == errc::protocol));
    BOOST_TEST((layers(1, 1000).failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_SUITE_END()
